from pathlib import Path

import pytest

from streamlab.workloads.datasets.catalog import Catalog


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(root=tmp_path / "data")
