"""The training core: one pure step, looped over steps, vmapped and sharded over trials."""
