"""Parents, children and peers: who belongs to whom, and who may reach whom."""
