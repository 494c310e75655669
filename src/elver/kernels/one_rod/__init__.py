"""One rod along its length, without strain functions: sections and shooting."""
