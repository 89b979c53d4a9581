from pathlib import Path

from callboard.cli.demo.play import copy_source


def test_the_demo_leaves_out_files_that_no_package_may_contain(tmp_path: Path) -> None:
    source, copy = tmp_path / "python3", tmp_path / "copy"
    (source / "config" / "deep").mkdir(parents=True)
    (source / "site.py").write_text("site")
    (source / "sitecustomize.py").symlink_to("/etc/python3/sitecustomize.py")
    (source / "config" / "libpython3.so").symlink_to("../../x86_64-linux-gnu/libpython3.so.1")
    (source / "config" / "deep" / "inside.py").symlink_to("../../site.py")
    (source / "__pycache__").mkdir()
    copy_source(source, copy)
    kept = {path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_symlink() or path.is_file()}
    assert kept == {"site.py", "config/deep/inside.py"}
