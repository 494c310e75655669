"""Every page of the gallery in its quick setting: it runs, writes its files, and its metrics hold."""

import json

import pytest

from elver import io
from elver.cli.gallery import Metric, find_pages, run_page

PAGES = find_pages()


def test_the_gallery_has_pages():
    assert {"elastica", "boyer-2023-tendon-arm"} <= set(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_page_reproduces_its_work(name, tmp_path):
    code = run_page(name, quick=True, out=tmp_path)
    written = json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8"))
    missed = {key: value for key, value in written.items() if not Metric(**value).holds}
    assert not missed
    assert code == 0
    assert len(written) >= 3
    assert (tmp_path / "figure.png").stat().st_size > 20_000
    assert io.load(tmp_path / "run.nc").sizes  # the file is a run that can be read back


@pytest.mark.parametrize("name", PAGES)
def test_page_names_its_work(name):
    page = PAGES[name]
    assert page.title
    assert page.source
    assert page.figure
    assert (page.path / "run.py").is_file()
    assert (page.path / "figures.py").is_file()
