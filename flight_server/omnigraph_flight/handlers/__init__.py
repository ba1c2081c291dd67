"""One module per RPC of Flight, and what they share."""
