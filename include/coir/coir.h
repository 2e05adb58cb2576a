/* SPDX-License-Identifier: MIT */
/*
 * coir/coir.h - all of libcoir: one header a concept, each of which reads as its own manual. Begin with
 * task.h.
 */
#ifndef COIR_COIR_H
#define COIR_COIR_H

#include <coir/task.h>
#include <coir/scope.h>
#include <coir/group.h>
#include <coir/combine.h>
#include <coir/context.h>
#include <coir/cell.h>
#include <coir/time.h>
#include <coir/channel.h>
#include <coir/sync.h>
#include <coir/lock.h>
#include <coir/io.h>
#include <coir/select.h>
#include <coir/net.h>
#include <coir/listen.h>
#include <coir/serve.h>
#include <coir/lend.h>
#include <coir/fs.h>
#include <coir/stream.h>
#include <coir/reader.h>
#include <coir/writer.h>
#include <coir/offload.h>
#include <coir/process.h>
#include <coir/signal.h>
#include <coir/shard.h>
#include <coir/see.h>

#include <coir/abi.h>

#endif
