"""From one catalog to the next: migration plans, and the three-way merge of schemas."""
