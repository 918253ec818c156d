import AccelByteIO
import AccelConversion
import AccelFormats
import AccelPackages
import AccelTensors

/// The options for the location and the container of the package.
enum OutputArguments {
    static let output = Option(
        "output", .output("OUT.accelpkg") { isArchive($0) ? .packageArchive : .package }, in: .output,
        "the package to write (default: MODEL.accelpkg, in the current folder). An earlier package of that name is replaced; "
            + "any other file or folder is an error",
        short: "o", isCommon: true,
        implied: { arguments in
            if arguments.has(ConvertCommand.shard) { return nil }
            return arguments[ConversionArguments.model].flatMap(name).map {
                "\($0).accelpkg\(arguments.has(zip) ? ".zip" : "")"
            }
        })
    static let zip = Option(
        "zip", .flag, in: .output,
        "write one zip archive instead of a folder. An output that ends in .zip does the same",
        isCommon: true)

    static func destination(_ arguments: Arguments) throws -> PackageDestination {
        let path = try arguments.required(output)
        return isArchive(arguments) ? .archive(path) : .folder(path)
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
