"""Measurements: throughput, latency, growth, memory and start-up, beside what the disk can do."""
