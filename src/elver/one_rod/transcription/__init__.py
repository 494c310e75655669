"""Direct transcription: energy minimised over strains in elements, with Ipopt."""
