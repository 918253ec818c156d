#include "include/CAccelPlugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

const accel_plugin *cap_load(const char *path, char *reason, size_t byte_count) {
    // Its symbols stay its own, and a missing one of another library is an error now and not in the middle of a run.
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *text = dlerror();
        snprintf(reason, byte_count, "is not a shared library that loads here (%s)", text ? text : "no reason is known");
        return NULL;
    }
    void *symbol = dlsym(library, "accel_plugin_entry");
    if (!symbol) {
        snprintf(reason, byte_count, "is a shared library, but no plug-in: it does not export accel_plugin_entry");
        dlclose(library);
        return NULL;
    }
    const accel_plugin *(*entry)(uint32_t);
    // ISO C has no cast from an object pointer to a function pointer.
    memcpy(&entry, &symbol, sizeof entry);
    const accel_plugin *table = entry(ACCEL_PLUGIN_ABI);
    if (!table) {
        snprintf(
            reason, byte_count, "does not know version %u of the interface: build it with this version's accel_plugin.h",
            ACCEL_PLUGIN_ABI);
        dlclose(library);
    }
    return table;
}
