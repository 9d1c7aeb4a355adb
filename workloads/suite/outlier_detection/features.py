"""Reads the continuous features of a connection into an array.

Compiled functions can read fields only by name, so every field has its own line.
"""

from typing import Any


def read_features(event: Any, x: Any) -> None:
    """Set `x` to the continuous features of a connection, in the order of `CONTINUOUS`."""
    x[0] = event.duration
    x[1] = event.src_bytes
    x[2] = event.dst_bytes
    x[3] = event.wrong_fragment
    x[4] = event.urgent
    x[5] = event.hot
    x[6] = event.num_failed_logins
    x[7] = event.num_compromised
    x[8] = event.root_shell
    x[9] = event.su_attempted
    x[10] = event.num_root
    x[11] = event.num_file_creations
    x[12] = event.num_shells
    x[13] = event.num_access_files
    x[14] = event.num_outbound_cmds
    x[15] = event.count
    x[16] = event.srv_count
    x[17] = event.serror_rate
    x[18] = event.srv_serror_rate
    x[19] = event.rerror_rate
    x[20] = event.srv_rerror_rate
    x[21] = event.same_srv_rate
    x[22] = event.diff_srv_rate
    x[23] = event.srv_diff_host_rate
    x[24] = event.dst_host_count
    x[25] = event.dst_host_srv_count
    x[26] = event.dst_host_same_srv_rate
    x[27] = event.dst_host_diff_srv_rate
    x[28] = event.dst_host_same_src_port_rate
    x[29] = event.dst_host_srv_diff_host_rate
    x[30] = event.dst_host_serror_rate
    x[31] = event.dst_host_srv_serror_rate
    x[32] = event.dst_host_rerror_rate
    x[33] = event.dst_host_srv_rerror_rate
