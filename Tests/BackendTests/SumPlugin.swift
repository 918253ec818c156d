import Accel
import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import BackendConformance
import Foundation
import TestSupport

/// The plug-in of Plugins/sum_plugin.c, compiled with flags, and packages that it runs.
final class SumPlugin {
    private let temporary: TemporaryFolder
    var folder: String { temporary.path }
    var path: String { "\(folder)/libsum.so" }

    /// Compiles the plug-in.
    /// - Parameter flags: of the C compiler; `-DFAULT=...` plants a fault.
    init(_ flags: [String] = []) throws {
        temporary = try TemporaryFolder(beside: "\(FileManager.default.temporaryDirectory.path)/plugin")
        let tests = URL(filePath: #filePath).deletingLastPathComponent()
        let header = tests.appending(path: "../../Sources/CAccelPlugin/include").path
        #if os(macOS)
            let undefined = ["-undefined", "dynamic_lookup"]
        #else
            let undefined: [String] = []
        #endif
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            ["clang", "-std=c11", "-O1", "-fPIC", "-shared", "-I\(header)"] + undefined + flags
            + [tests.appending(path: "Plugins/sum_plugin.c").path, "-o", path]
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw RequestError("clang did not compile the plug-in") }
    }

    func backend() throws -> PluginBackend { try PluginBackend(at: path, trust: .path) }

    /// A package with one function, y = sum + x, and five runs of it.
    func conformanceCase(probe: PackageProbe? = nil) throws -> ConformanceCase {
        var builder = ProgramBuilder(name: "sum")
        let x = builder.input("x", TensorType(.float32, [3]))
        let sum = builder.state("sum", TensorType(.float32, [3]))
        let next = try builder.apply(Add(), [sum, x])
        builder.update("sum", to: next)
        builder.output("y", next)
        let function = try builder.finish().freezing(ShapeBindings())
        let recipe = Recipe(default: try Codecs.codec("float32"))
        let compressed = try recipe.compressing([function], threads: 1)
        var contents = PackageContents(
            graph: try compressed.graph(), coverage: [],
            provenance: Provenance(sources: [], family: "conformance", recipe: recipe.json, shapes: ["sum"]))
        if let probe { contents.assets = [probe.asset] }
        let path = "\(folder)/sum.accelpkg"
        try PackageWriter.write(contents, to: path)
        let runs = (0..<5).map { index in
            let floats: [Float] = [Float(index) + 0.25, -1, 1e-3 * Float(index)]
            return ConformanceCase.Run(
                function.functionName, ["x": StoredTensor(name: "x", floats: floats, shape: [3])])
        }
        return try ConformanceCase("sum", package: path, [runs])
    }

    /// What y is after x = [1, 2, 3].
    static func probe(expecting values: [Double] = [1, 2, 3]) -> PackageProbe {
        PackageProbe(
            runs: [
                PackageProbe.Run(
                    function: "sum", inputs: [PackageProbe.Input(name: "x", values: [1, 2, 3])],
                    outputs: [PackageProbe.Output(name: "y", stride: 1, values: values)])
            ], tolerances: ["cpu": 3e-6, PackageProbe.anyBackend: 0x1p-6])
    }
}
