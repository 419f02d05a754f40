"""Stragglers that were measured."""
