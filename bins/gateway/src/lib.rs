//! WebSocket sessions of devices and agent consumers.
