import AccelByteIO
import AccelPackages
import AccelPrograms
import AccelTensors
import CAccelPlugin

/// A `BackendRequest` as a plug-in reads it. The memory lives as long as this object.
final class PluginRequest {
    private var allocations: [UnsafeMutableRawPointer] = []
    private var request = accel_plugin_request()

    init(_ request: BackendRequest, functions: [FunctionDescription], export: String?) {
        let described = functions.map { function in
            var result = accel_plugin_function()
            result.struct_size = UInt32(MemoryLayout<accel_plugin_function>.size)
            result.name = text(function.name)
            result.part = text(function.part)
            result.role = text(function.role.rawValue)
            (result.inputs, result.input_count) = ports(function.inputs)
            (result.outputs, result.output_count) = ports(function.outputs)
            (result.states, result.state_count) = ports(function.states)
            return result
        }
        self.request.struct_size = UInt32(MemoryLayout<accel_plugin_request>.size)
        self.request.threads = Int32(clamping: request.threads)
        self.request.memory_limit = UInt64(max(0, request.memoryLimit ?? 0))
        self.request.package = text(request.package.path)
        self.request.digest = text(request.package.digest.description)
        self.request.export_path = export.map { text($0) }
        self.request.family = text(request.package.manifest.provenance.family)
        self.request.function_count = functions.count
        self.request.functions = copy(described)
    }

    deinit { for allocation in allocations { allocation.deallocate() } }

    /// Calls `body` with the request.
    func with<Result>(_ body: (UnsafePointer<accel_plugin_request>) throws -> Result) rethrows -> Result {
        defer { withExtendedLifetime(self) {} }
        return try withUnsafePointer(to: request) { try body($0) }
    }

    private func ports(_ ports: [FunctionDescription.Port]) -> (UnsafePointer<accel_plugin_port>?, UInt32) {
        let described = ports.map { port in
            var result = accel_plugin_port()
            result.struct_size = UInt32(MemoryLayout<accel_plugin_port>.size)
            result.rank = UInt32(clamping: port.shape.rank)
            result.name = text(port.name)
            result.type = text(port.elementType.rawValue)
            result.role = text(port.role.kind.rawValue)
            result.shape = copy(port.shape.dimensions.map { Int64($0) })
            result.byte_count = port.shape.count * port.elementType.byteCount
            return result
        }
        return (copy(described), UInt32(clamping: ports.count))
    }

    private func text(_ text: String) -> UnsafePointer<CChar> { copy(text.utf8CString) }

    private func copy<Element>(_ elements: some Collection<Element>) -> UnsafePointer<Element> {
        let memory = UnsafeMutablePointer<Element>.allocate(capacity: max(1, elements.count))
        for (index, element) in elements.enumerated() { (memory + index).initialize(to: element) }
        allocations.append(UnsafeMutableRawPointer(memory))
        return UnsafePointer(memory)
    }
}
