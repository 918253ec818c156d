"""The parts of scripts/record.py."""
