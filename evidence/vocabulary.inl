// SPDX-License-Identifier: MIT
// Every word the project has for what an accelerator did, one row each, and nothing anywhere else:
// the enums, the recorder's cells, the Prometheus families and docs/metrics.md are made from it.
// A file that includes this defines the row macros it wants; the others expand to nothing.
//
//   #define KS_EVENT(id, name, when) case Event::id: return name;
//   #include "evidence/vocabulary.inl"
//
// Names of counters, distributions, gauges, annotations and the info row follow `keysieve_gpu_`;
// names of service rows are whole. Times are kept in nanoseconds and exported in seconds.

#ifndef KS_COUNTER  // (id, name, unit, label, help, when)
#define KS_COUNTER(...)
#endif
#ifndef KS_DISTRIBUTION  // (id, name, help, when); nanoseconds
#define KS_DISTRIBUTION(...)
#endif
#ifndef KS_GAUGE  // (id, name, unit, label, help, when)
#define KS_GAUGE(...)
#endif
#ifndef KS_EVENT  // (id, name, when)
#define KS_EVENT(...)
#endif
#ifndef KS_ANNOTATION  // (id, name, help, when); a number without a unit
#define KS_ANNOTATION(...)
#endif
#ifndef KS_CAPABILITY  // (id, number, name, help)
#define KS_CAPABILITY(...)
#endif
#ifndef KS_INFO  // (name, labels, help, when)
#define KS_INFO(...)
#endif
#ifndef KS_SERVICE  // (name, type, labels, help)
#define KS_SERVICE(...)
#endif

// ---- Counters. Per device, zero at its first submission.

KS_COUNTER(kDispatchCalls, "dispatches_total", kCount, kNone,
           "Dispatches completed: one per epoch, or one per ready word under the resident policy.",
           "a submission with a launch completes")
KS_COUNTER(kUploadBytes, "upload_bytes_total", kBytes, kTraffic,
           "Bytes made readable to the device, by what they carry; zero-copy input included.",
           "a submission completes")
KS_COUNTER(kUploadTime, "upload_seconds_total", kNanoseconds, kNone,
           "Time spent copying to the device; zero-copy input takes none.",
           "a submission whose upload was timed completes")
KS_COUNTER(kReadbackBytes, "readback_bytes_total", kBytes, kTraffic,
           "Bytes brought back from the device, by what they carry.", "a submission completes")
KS_COUNTER(kReadbackTime, "readback_seconds_total", kNanoseconds, kNone,
           "Time spent copying from the device.", "a submission whose readback was timed completes")
KS_COUNTER(kSubmitToCompleteTime, "submit_to_complete_seconds_total", kNanoseconds, kNone,
           "Time from handing a dispatch to the driver until it was known to be complete.",
           "a submission with a launch completes")
KS_COUNTER(kKernelTime, "kernel_seconds_total", kNanoseconds, kNone,
           "Time kernels ran, by the device's own clock.",
           "a submission whose kernel was timed completes")
KS_COUNTER(kQueueWaitTime, "queue_wait_seconds_total", kNanoseconds, kNone,
           "Submit-to-complete time less kernel time.",
           "a submission whose kernel was timed completes")
KS_COUNTER(kAllocationCalls, "allocations_total", kCount, kNone,
           "Allocations of device memory and of pinned host memory.", "memory is allocated")
KS_COUNTER(kAllocatedBytes, "allocated_bytes_total", kBytes, kNone,
           "Bytes allocated, immutable tables included.", "memory is allocated")
KS_COUNTER(kFreedBytes, "freed_bytes_total", kBytes, kNone, "Bytes given back.", "memory is freed")
KS_COUNTER(kCompileCalls, "compiles_total", kCount, kNone,
           "Programs compiled or loaded by the driver.", "a program is built")
KS_COUNTER(kCompileTime, "compile_seconds_total", kNanoseconds, kNone,
           "Time the driver took to build programs.", "a program is built")
KS_COUNTER(kPipelineCacheHits, "pipeline_cache_hits_total", kCount, kNone,
           "Programs found in the pipeline cache.", "the cache is asked and has it")
KS_COUNTER(kPipelineCacheMisses, "pipeline_cache_misses_total", kCount, kNone,
           "Programs not found in the pipeline cache.", "the cache is asked and has it not")
KS_COUNTER(kOverlapTime, "overlap_seconds_total", kNanoseconds, kNone,
           "Copy time that passed while another kernel ran.", "a submission completes")
KS_COUNTER(kFaults, "faults_total", kCount, kFault,
           "Faults by kind. A hit queue that was too small is not one.", "work on the device fails")
KS_COUNTER(kRetries, "retries_total", kCount, kNone, "Work submitted again after a fault.",
           "failed work is submitted again")
KS_COUNTER(kRecoveries, "recoveries_total", kCount, kNone,
           "Batches that the CPU route finished because the device could not.",
           "the CPU route has finished a failed batch")
KS_COUNTER(kResidualBatches, "residual_batches_total", kCount, kNone,
           "Batches left over by a fault.", "a fault leaves a batch without an answer")
KS_COUNTER(kOverflowReplays, "overflow_replays_total", kCount, kNone,
           "Batches run again because a hit queue was too small. No hit is lost.",
           "a batch is replayed with room for its exact count")
KS_COUNTER(
    kBusyTime, "busy_seconds_total", kNanoseconds, kNone,
    "Time the device program spent on work, summed over its workgroups as it measured itself; "
    "polling is not busy. Where it has no clock: kernel time of its epochs, which never poll.",
    "the device program reports its busy time")
KS_COUNTER(kStallCycles, "stall_cycles_total", kCycles, kNone,
           "Cycles the device's schedulers had nothing to issue, where a vendor query exists.",
           "the vendor's counter is read")
KS_COUNTER(kCapabilityGaps, "capability_gaps_total", kCount, kCapability,
           "Capabilities found missing: one per capability in a process.",
           "the first dispatch under a context completes on a device that lacks the capability")
KS_COUNTER(kEvents, "events_total", kCount, kEvent, "Events by name, as the process saw them.",
           "the event happens")
KS_COUNTER(kAccountingErrors, "accounting_errors_total", kCount, kNone,
           "Reports that cannot be true and were refused: more bytes freed than are resident, a "
           "kernel longer than its submission, a ratio that is no number.",
           "such a report arrives")
KS_COUNTER(kOnceLosses, "once_losses_total", kCount, kNone,
           "Identities and gaps not recorded because the bounded once-per-context set was full.",
           "an entry does not fit")

// ---- Distributions. Histograms from 1 us to 10 s.

KS_DISTRIBUTION(kUpload, "upload_duration_seconds", "Time to copy one submission's input.",
                "a submission whose upload was timed completes")
KS_DISTRIBUTION(kReadback, "readback_duration_seconds", "Time to copy one submission's output.",
                "a submission whose readback was timed completes")
KS_DISTRIBUTION(kSubmitToComplete, "submit_to_complete_duration_seconds",
                "Time of one dispatch from submission to completion.",
                "a submission with a launch completes")
KS_DISTRIBUTION(kKernel, "kernel_duration_seconds", "Time one dispatch's kernel ran.",
                "a submission whose kernel was timed completes")
KS_DISTRIBUTION(kQueueWait, "queue_wait_duration_seconds",
                "One dispatch's submit-to-complete time less its kernel time.",
                "a submission whose kernel was timed completes")

// ---- Gauges.

KS_GAUGE(kResidentBytes, "resident_bytes", kBytes, kNone,
         "Bytes allocated and not freed, immutable tables included.",
         "memory is allocated or freed")
KS_GAUGE(kPeakResidentBytes, "peak_resident_bytes", kBytes, kNone,
         "The most bytes that were resident at once.", "memory is allocated")
KS_GAUGE(
    kOccupancyRatio, "occupancy_ratio", kRatio, kNone,
    "Share of the device's warp slots that the program can fill. Absent where it can't be read.",
    "the device is sampled")
KS_GAUGE(kUtilizationRatio, "utilization_ratio", kRatio, kNone,
         "Share of time in which the driver saw a kernel run. A resident kernel shows near 1 even "
         "when it only polls: keysieve_gpu_busy_seconds_total tells the truth. Absent where it "
         "can't be read.",
         "the device is sampled")
KS_GAUGE(kCapabilitySupported, "capability_supported", kCount, kCapability,
         "1 where the device can read the capability, 0 where its metrics are absent.",
         "the first dispatch of the process completes")

// ---- Events. Exported as keysieve_gpu_events_total{event}; in a scan's record, in order.

KS_EVENT(kAdapterAcquired, "adapter_acquired",
         "the first dispatch under a context completes; never when the adapter is merely opened")
KS_EVENT(kFault, "fault", "work on the device fails; carries the fault's kind")
KS_EVENT(kCapabilityUnsupported, "capability_unsupported",
         "the first dispatch under a context completes; carries the capability's number")
KS_EVENT(kBackendRecovered, "backend_recovered", "the CPU route has finished a failed batch")
KS_EVENT(kDeviceQuarantined, "device_quarantined", "the device gets no more work")

// ---- Annotations: numbers that go with the events in a scan's record, and standing gauges.

KS_ANNOTATION(kBackendKind, "backend_code", "The backend's number: cuda 1, metal 2, vulkan 3.",
              "with adapter_acquired")
KS_ANNOTATION(kPciVendor, "pci_vendor_code", "PCI vendor id; 0 is unknown.",
              "with adapter_acquired")
KS_ANNOTATION(kPciDevice, "pci_device_code", "PCI device id; 0 is unknown.",
              "with adapter_acquired")
KS_ANNOTATION(kRetryAttempt, "retry_attempt", "Number of the latest retry, from 1; 0 before any.",
              "failed work is submitted again")

// ---- Capabilities. The numbers are stable.

KS_CAPABILITY(kKernelTimestamps, 1, "kernel_timestamps",
              "Kernel time by the device's clock: kernel and queue-wait metrics.")
KS_CAPABILITY(kOccupancy, 2, "occupancy", "Achievable occupancy: keysieve_gpu_occupancy_ratio.")
KS_CAPABILITY(kUtilization, 3, "utilization",
              "Driver-side utilization: keysieve_gpu_utilization_ratio.")
KS_CAPABILITY(kStallCounters, 4, "stall_counters",
              "Scheduler stalls: keysieve_gpu_stall_cycles_total.")

// ---- Identity.

KS_INFO("device_info", "backend, device, name, driver, driver_info, uuid, pci_address, software",
        "Strings that identify the device; the value is always 1.",
        "the first dispatch of the process completes")

// ---- The service's own metrics. The daemon counts them; names and help texts stand here.

KS_SERVICE("keysieve_lane_state", kGauge, "backend, device, state",
           "1 for the state a device's lane is in, 0 for every other state.")
KS_SERVICE("keysieve_ring_slots_used", kGauge, "backend, device",
           "Ring slots published and not yet given back.")
KS_SERVICE("keysieve_queue_blobs", kGauge, "backend, device", "Blobs waiting for the lane.")
KS_SERVICE("keysieve_streams", kGauge, "", "Scan and Match streams open.")
KS_SERVICE("keysieve_inflight_bytes", kGauge, "", "Bytes of blob memory reserved by admission.")
KS_SERVICE("keysieve_admission_rejects_total", kCounter, "reason",
           "Requests refused before any of their bytes were read.")
KS_SERVICE("keysieve_scans_total", kCounter, "result", "Scans ended, by result.")
KS_SERVICE("keysieve_blobs_total", kCounter, "", "Blobs answered with a receipt.")
KS_SERVICE("keysieve_blob_duration_seconds", kHistogram, "",
           "Time from a blob's last byte to its receipt.")
KS_SERVICE("keysieve_route_bytes_total", kCounter, "route",
           "Bytes scanned, by the route they took.")
KS_SERVICE("keysieve_tenant_bytes_total", kCounter, "tenant",
           "Bytes scanned, by tenant; past metrics.tenants of them the rest is other.")
KS_SERVICE("keysieve_tenant_device_seconds_total", kCounter, "tenant, backend",
           "Kernel time of batches, shared out among the tenants in them by bytes. Absent where "
           "the backend has no clock.")
KS_SERVICE("keysieve_findings_total", kCounter, "rule",
           "Findings reported, by rule of the daemon's own set; the rest is other.")
KS_SERVICE("keysieve_gaps_total", kCounter, "reason", "Stretches wanted and not scanned.")
KS_SERVICE("keysieve_exclusions_total", kCounter, "reason", "Blobs left out by policy.")
KS_SERVICE("keysieve_rules_info", kGauge, "name, digest",
           "The rule set in force; the value is always 1.")
KS_SERVICE("keysieve_rules_loaded_timestamp_seconds", kGauge, "",
           "When the rule set in force was loaded, since the Unix epoch.")
KS_SERVICE("keysieve_build_info", kGauge, "version, revision, compiler",
           "What this program was built from; the value is always 1.")
KS_SERVICE("keysieve_metrics_rejected_total", kCounter, "reason",
           "Metrics left out of a scrape because they were malformed, by what was wrong.")
KS_SERVICE("grpc_server_started_total", kCounter, "grpc_service, grpc_method", "RPCs begun.")
KS_SERVICE("grpc_server_handled_total", kCounter, "grpc_service, grpc_method, grpc_code",
           "RPCs ended, by status code.")
KS_SERVICE("grpc_server_handling_seconds", kHistogram, "grpc_service, grpc_method",
           "Time from an RPC's beginning to its end.")
KS_SERVICE("process_cpu_seconds_total", kCounter, "", "User and system CPU time spent.")
KS_SERVICE("process_resident_memory_bytes", kGauge, "", "Resident host memory.")
KS_SERVICE("process_virtual_memory_bytes", kGauge, "", "Virtual memory.")
KS_SERVICE("process_open_fds", kGauge, "", "Open file descriptors.")
KS_SERVICE("process_max_fds", kGauge, "", "Most file descriptors that may be open.")
KS_SERVICE("process_threads", kGauge, "", "Operating system threads.")
KS_SERVICE("process_start_time_seconds", kGauge, "", "Start time since the Unix epoch.")

#undef KS_COUNTER
#undef KS_DISTRIBUTION
#undef KS_GAUGE
#undef KS_EVENT
#undef KS_ANNOTATION
#undef KS_CAPABILITY
#undef KS_INFO
#undef KS_SERVICE
