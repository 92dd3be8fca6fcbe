"""The pure part of the engine: values and decisions. Nothing here touches a database, a clock or the network."""
