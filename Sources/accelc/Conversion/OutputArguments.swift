import AccelByteIO
import AccelConversion
import AccelFormats
import AccelPackages
import AccelTensors

/// The options for the location and the container of the package.
enum OutputArguments {
    static let output = Option(
        "output", .output("OUT.accelpkg") { isArchive($0) ? .packageArchive : .package },
        "the package to write (default: MODEL.accelpkg, in the current folder); a package of that name is "
            + "replaced, anything else is not",
        short: "o",
        implied: { arguments in
            if arguments.has(ConvertCommand.shard) { return nil }
            return arguments[ConversionArguments.model].flatMap(name).map {
                "\($0).accelpkg\(arguments.has(zip) ? ".zip" : "")"
            }
        })
    static let zip = Option("zip", .flag, "write one zip archive instead of a folder; so does an OUT that ends in .zip")

    static func destination(_ arguments: Arguments) throws -> PackageDestination {
        let path = try arguments.required(output)
        if let format = ModelFormats.named(by: path), format.exporter != nil {
            throw RequestError(
                "\(path) is the name of \(format.title), which export writes: accelc export MODEL -o \(path)")
        }
        try refuseForeignName(path)
        return isArchive(arguments) ? .archive(path) : .folder(path)
    }

    /// Refuses a name that other tools would take for a file of their own.
    private static func refuseForeignName(_ path: String) throws {
        let name = Files.trimmingSlashes(path)
        for suffix in ExportCommand.otherCoreML where name.hasSuffix(suffix) {
            throw RequestError(
                "\(path) is the name of a Core ML model, which export writes as a package: accelc export MODEL -o "
                    + "\(name.dropLast(suffix.count)).mlpackage")
        }
        guard ForeignFormat(named: name) != nil || name.hasSuffix(".safetensors"), let dot = name.lastIndex(of: ".")
        else { return }
        throw RequestError("\(path): convert writes packages, and no \(name[dot...]): use -o \(name[..<dot]).accelpkg")
    }

    /// Returns the name of a model without the suffix of its format.
    private static func name(of model: String) -> String? {
        guard let name = Checkpoint.name(of: model) else { return nil }
        let suffix = ModelFormats.all.flatMap { $0.suffixes }.first { name.hasSuffix($0) && name != $0 }
        return suffix.map { String(name.dropLast($0.count)) } ?? name
    }

    private static func isArchive(_ arguments: Arguments) -> Bool {
        arguments.has(zip) || arguments[output]?.hasSuffix(".zip") == true
    }
}
