import AccelByteIO
import AccelPackages
import AccelPrograms
import AccelTensors
import CAccelPlugin

/// A `BackendRequest` as a plug-in reads it. The memory lives as long as this object.
final class PluginRequest {
    private let memory = LentMemory()
    private var request = accel_plugin_request()

    init(_ request: BackendRequest, functions: [FunctionDescription], export: String?) {
        let described = functions.map { function in
            var result = accel_plugin_function()
            result.struct_size = UInt32(MemoryLayout<accel_plugin_function>.size)
            result.name = memory.string(function.name)
            result.part = memory.string(function.part)
            result.role = memory.string(function.role.rawValue)
            (result.inputs, result.input_count) = ports(function.inputs)
            (result.outputs, result.output_count) = ports(function.outputs)
            (result.states, result.state_count) = ports(function.states)
            return result
        }
        self.request.struct_size = UInt32(MemoryLayout<accel_plugin_request>.size)
        self.request.threads = Int32(clamping: request.threads)
        self.request.memory_limit = UInt64(max(0, request.memoryLimit ?? 0))
        self.request.package = memory.string(request.package.path)
        self.request.digest = memory.string(request.package.digest.description)
        self.request.export_path = export.map { memory.string($0) }
        self.request.family = memory.string(request.package.manifest.provenance.family)
        self.request.function_count = functions.count
        self.request.functions = memory.array(described)
    }

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
            result.name = memory.string(port.name)
            result.type = memory.string(port.elementType.rawValue)
            result.role = memory.string(port.role.kind.rawValue)
            result.shape = memory.array(port.shape.dimensions.map { Int64($0) })
            result.byte_count = port.shape.count * port.elementType.byteCount
            return result
        }
        return (memory.array(described), UInt32(clamping: ports.count))
    }
}
