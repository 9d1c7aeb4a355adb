"""Temporary folders of trials, removed with the trial or by the next run when theirs was killed."""

import os
import tempfile
import time

import pytest

from streamlab.lab.trial.scratch import PREFIX, remove_orphaned_folders, trial_folder


@pytest.fixture(autouse=True)
def scratch(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def make_older(path):
    an_hour_ago = time.time() - 3600
    os.utime(path, (an_hour_ago, an_hour_ago))


def test_a_folder_is_removed_after_its_block():
    with trial_folder() as folder:
        (folder / "file").write_text("x")
    assert not folder.exists()


def test_the_folder_of_a_killed_lab_is_removed_and_one_in_use_is_not(scratch):
    orphan = scratch / f"{PREFIX}orphan"
    (orphan / "tmp").mkdir(parents=True)
    make_older(orphan)
    with trial_folder() as folder:
        make_older(folder)
        remove_orphaned_folders()
        assert [path.name for path in scratch.iterdir()] == [folder.name]


def test_a_folder_that_was_just_made_may_not_be_locked_yet_and_is_spared(scratch):
    young = scratch / f"{PREFIX}young"
    young.mkdir()
    remove_orphaned_folders()
    assert young.exists()


def test_a_link_is_not_followed(scratch, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "file").write_text("x")
    make_older(elsewhere)
    (scratch / f"{PREFIX}link").symlink_to(elsewhere)
    remove_orphaned_folders()
    assert (elsewhere / "file").exists()
