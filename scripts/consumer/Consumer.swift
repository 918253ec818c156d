// A program that depends on accelc as a package: converts the digit classifier in two shares and one conversion through a
// cache, verifies the package against the model and the framework's outputs, and runs it.
import Accel
import AccelConversion
import AccelVerification

@main
struct Consumer {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3 else { fatalError("usage: consumer MODEL FOLDER") }
        let (model, folder) = (arguments[1], arguments[2])
        let samples = "\(model)/golden.safetensors"

        var conversion = try Conversion(of: model, compressedBy: "palette:bits=4,group=16")
        conversion.shapeFiles = [samples]
        let settings = ConversionSettings(cache: Cache(root: "\(folder)/cache"), threads: 2)
        for number in 1...2 {
            let shard = try await conversion.run(WeightShard(number, of: 2), settings).value
            print("shard \(shard.shard): \(shard.weights.made) of \(shard.jobs) weights made")
        }
        let work = conversion.run(to: .folder("\(folder)/digits.accelpkg"), settings)
        var found = 0
        for await event in work.events where event.kind == .weight && event.cache == .hit { found += 1 }
        let converted = try await work.value
        print("package \(converted.package.digest): cache \(converted.cache), \(found) weights found")
        guard converted.weights.made == 0, found == converted.weights.found else {
            fatalError("the shares were made again: \(converted.weights), \(found) events")
        }

        let package = try AcceleratorPackage(at: "\(folder)/digits.accelpkg")
        try package.check()
        let checkpoint = try Checkpoint(model: model)
        let original = try OriginalModel(checkpoint, for: package, threads: 2)
        // The stages that need no run of the reference: unoptimised, that takes minutes.
        let report = try Parity(of: .package(package), against: .model(original))
            .check(Parity.Options(stages: [.container, .structure, .weights], threads: 2))
        print(report.headline)
        guard report.exitStatus == .success else { fatalError(report.terminal()) }

        // The classes that the compressed model finds, beside those of the framework's logits.
        let tensors = Dictionary(try SafetensorsFile(samples).tensors.map { ($0.name, $0) }) { first, _ in first }
        let inputs = package.graph.functions[0].inputs.compactMap { port in
            tensors["in.\(port.name)"].map { (port.name, $0) }
        }
        let outputs = try Session(package.graph.planned(), threads: 2).run(0, Dictionary(uniqueKeysWithValues: inputs))
        guard let logits = outputs.first(where: { $0.name == "logits" }), let wanted = tensors["out.logits"] else {
            fatalError("there are no logits among \(outputs.map(\.name))")
        }
        let (own, theirs) = (classes(of: logits), classes(of: wanted))
        let equal = zip(own, theirs).count { $0 == $1 }
        print("\(equal) of \(theirs.count) digits as the framework has them")
        guard own.count == theirs.count, equal * 100 >= theirs.count * 95 else { fatalError("too few") }
    }

    private static func classes(of logits: StoredTensor) -> [Int] {
        let values = logits.floats()
        return (0..<logits.shape.rows).map { row in
            let columns = row * logits.shape.columns..<(row + 1) * logits.shape.columns
            return (columns.max { values[$0] < values[$1] } ?? columns.lowerBound) - columns.lowerBound
        }
    }
}
