import AccelByteIO
import AccelCalibration
import AccelConversion

/// The options for a target size or a target accuracy of a package's weights.
enum TargetArguments {
    static let size = Option(
        "target-size", .text("SIZE"), in: .target,
        "choose schemes so that all weights take at most SIZE, such as 12MB. The choice is measured on the data of "
            + "--calibrate. Rules of a recipe come first; such a recipe needs no default. Padding in the file does not count",
        isCommon: true, excludes: ["target-bits", "min-sqnr", "compress"]
    ).setting(.target, setTarget)
    static let bits = Option(
        "target-bits", .text("BITS"), in: .target,
        "choose a scheme for each weight so that the mean is at most BITS. The mean is over the weights whose scheme is chosen",
        excludes: ["min-sqnr", "compress"]
    ).setting(.target, setTarget)
    static let sqnr = Option(
        "min-sqnr", .text("DB"), in: .target,
        "choose the smallest schemes whose outputs keep an SQNR of DB. The SQNR is measured on held-out samples (every "
            + "\(CalibrationSamples.heldOutShare)th; all if there are fewer), over all outputs together, as the mean of their "
            + "relative squared errors, without padding. --min-sqnr of verify checks each output",
        excludes: ["compress"]
    ).setting(.target, setTarget)
    static let plan = Option(
        "plan", .output("DIR") { _ in PlanFolder.kind }, in: .target,
        "the folder for the compression plan. It has a recipe that makes the same package without samples, the recipe's statistics, "
            + "all measurements, and report.html (default: the output's path and .plan)",
        needs: targets,
        implied: { arguments in
            guard [size, bits, sqnr].contains(where: { arguments.has($0.option) }), !arguments.has(noPlan.option)
            else { return nil }
            return arguments[OutputArguments.output].map { "\(Files.trimmingSlashes($0)).plan" }
        }
    ).setting(nil)
    static let noPlan = Option(
        "no-plan", .flag, in: .target, "write no compression plan. Its statistics may be larger than the package",
        excludes: ["plan"],
        needs: targets
    ).setting(nil)
    static let all = [size, bits, sqnr, plan, noPlan]
    private static let targets: [Option.Need] = [
        .option("target-size"), .option("target-bits"), .option("min-sqnr"),
    ]

    /// The target chooses for all weights that no rule of a recipe file fits.
    @Sendable
    private static func setTarget(_ request: inout Conversion, _ arguments: Arguments, _ option: Option) throws {
        request.target = try target(arguments)
        guard !arguments.has(ConversionArguments.recipe.option) else { return }
        let activations = request.recipe.activations
        request.recipe = try CompressionTarget.freeRecipe()
        request.recipe.activations = activations
    }

    /// The signal-to-noise ratio of float32, whose significands have 24 bits of 6.02 dB each.
    private static let mostDecibels = 144.0

    /// Returns the document of a recipe that may go without a default: a target chooses what no rule says.
    static func completed(_ document: JSON) throws -> JSON {
        guard case .object(let members) = document, document["default"] == nil, document["rules"] != nil,
            let free = try CompressionTarget.freeRecipe().json["default"]
        else { return document }
        return .object(members + [.init("default", free)])
    }

    /// Returns nil if there is no target.
    static func target(_ arguments: Arguments) throws -> CompressionTarget? {
        func number(_ option: Option, _ text: String) throws -> Double {
            guard let number = Double(text), number.isFinite, number > 0 else {
                throw RequestError("--\(option.name) \(text): expected a number above 0")
            }
            return number
        }
        if let text = arguments[size.option] {
            guard let bytes = Text.parseBytes(text), bytes > 0 else {
                throw RequestError("--target-size \(text): \(Text.sizeForm)")
            }
            let letters = text.filter(\.isLetter)
            let unit = ["B", "kB", "MB", "GB", "TB"].first { $0.lowercased() == letters.lowercased() } ?? letters
            return CompressionTarget(
                .bytes(bytes), text: "size \(text.filter { !$0.isWhitespace && !$0.isLetter })\(unit)")
        }
        if let text = arguments[bits.option] {
            return CompressionTarget(.bits(try number(bits.option, text)), text: "bits \(text)")
        }
        if let text = arguments[sqnr.option] {
            let decibels = try number(sqnr.option, text)
            guard decibels <= mostDecibels else {
                throw RequestError(
                    "--min-sqnr \(text): no compressed weights reach it, as numbers of float32 have \(Int(mostDecibels)) dB themselves; "
                        + "outputs of 20 to 40 dB are usual")
            }
            return CompressionTarget(.sqnr(decibels), text: "sqnr \(text)")
        }
        return nil
    }
}
