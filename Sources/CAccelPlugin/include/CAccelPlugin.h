// The host's side of plug-ins.
#ifndef CACCEL_PLUGIN_H
#define CACCEL_PLUGIN_H

#include "accel_plugin.h"

/// Loads a shared library and calls its entry. Returns its table. Returns NULL with the reason in `reason` if there is none:
/// the library does not load, does not export `accel_plugin_entry`, or returns NULL.
const accel_plugin *cap_load(const char *path, char *reason, size_t byte_count);

#endif
