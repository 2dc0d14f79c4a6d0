/// The hooks for Intel's instrumentation tools, which have nothing to tell here: oneTBB's stock binaries for Linux ship
/// with them disabled too ("TOOLS SUPPORT disabled"), and programs call them only when built with profiling on.
#include <oneapi/tbb/profiling.h>

namespace tbb::detail::r1 {

void call_itt_notify(int, void*) {}

void create_itt_sync(void*, const tchar*, const tchar*) {}

void itt_set_sync_name(void*, const tchar*) {}

void itt_make_task_group(d1::itt_domain_enum, void*, unsigned long long, void*, unsigned long long,
                         string_resource_index) {}

void itt_task_begin(d1::itt_domain_enum, void*, unsigned long long, void*, unsigned long long, string_resource_index) {}

void itt_task_end(d1::itt_domain_enum) {}

void itt_metadata_str_add(d1::itt_domain_enum, void*, unsigned long long, string_resource_index, const char*) {}

void itt_metadata_ptr_add(d1::itt_domain_enum, void*, unsigned long long, string_resource_index, void*) {}

void itt_relation_add(d1::itt_domain_enum, void*, unsigned long long, itt_relation, void*, unsigned long long) {}

void itt_region_begin(d1::itt_domain_enum, void*, unsigned long long, void*, unsigned long long,
                      string_resource_index) {}

void itt_region_end(d1::itt_domain_enum, void*, unsigned long long) {}

}  // namespace tbb::detail::r1
