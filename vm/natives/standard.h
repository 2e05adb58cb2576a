/* SPDX-License-Identifier: MIT */
/*
 * The files of the standard library's natives, each with its table. A new one is named here and in standard.c.
 */
#ifndef COIR_VM_NATIVES_STANDARD_H
#define COIR_VM_NATIVES_STANDARD_H

#include "vm/native.h"

extern const struct coir_natives coir_conn_natives, coir_env_natives, coir_file_natives, coir_fs_folder_natives,
                                 coir_fs_natives, coir_fs_whole_natives, coir_io_natives, coir_list_natives,
                                 coir_map_natives, coir_net_natives, coir_number_natives, coir_pipe_natives,
                                 coir_proc_child_natives, coir_proc_natives, coir_proc_signals_natives,
                                 coir_rand_natives, coir_sort_natives, coir_text_natives, coir_text_search_natives,
                                 coir_time_natives;

#endif
