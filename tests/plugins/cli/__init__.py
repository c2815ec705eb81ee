"""Tests of this plugin: good, bad and hostile input."""
