# Sourced by the scripts that look at levain in a terminal: sets `python` to one with an emulator. Expects `root`.
python=$root/target/screens/venv/bin/python
if ! [ -e "$root/target/screens/installed-1" ]; then
    mkdir -p "$root/target/screens"
    python3 -m venv "$root/target/screens/venv" || {
        echo "python3 with venv is needed; on Debian: apt-get install python3-venv" >&2
        exit 1
    }
    "$python" -m pip install --quiet pyte==0.8.2 rich==14.2.0 wcwidth==0.9.4
    touch "$root/target/screens/installed-1"
fi
