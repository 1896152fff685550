"""The store port: durable agents and everything that belongs to them."""
