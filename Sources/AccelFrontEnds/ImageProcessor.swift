public import AccelByteIO
public import AccelImages

/// The picture at the beginning of a model: the computation of its pixels from a picture, as its preprocessor_config.json states it.
///
/// The values are those of the image processors of transformers with the backend `pil`.
public struct ImageProcessor: Sendable {
    /// The size after resizing; nil without resizing.
    public let size: Size?
    /// The filter of resizing.
    public let filter: ResizingFilter
    /// The size of the middle part that is cut out; nil for the whole picture.
    public let cropSize: (height: Int, width: Int)?
    /// The value of each byte in the three channels: rescaled and normalised.
    private let values: [[Float]]

    /// The size of the result depends on that of the picture, so that a function of a fixed shape takes some pictures only.
    package var hasVaryingSize: Bool { cropSize == nil && size?.isVarying != false }

    /// Returns the picture at the size that the model takes.
    /// - Throws: `RequestError` if the resized picture is too large.
    public func fitted(_ picture: Picture) throws(RequestError) -> Picture {
        var picture = picture
        if let (height, width) = size?.fitting(height: picture.height, width: picture.width) {
            picture = try picture.resized(width: width, height: height, by: filter)
        }
        guard let cropSize else { return picture }
        return try picture.centre(width: cropSize.width, height: cropSize.height)
    }

    /// Returns the values of a picture of the model's size, F32[3, height, width].
    public func values(of picture: Picture) -> [Float] {
        values.enumerated().flatMap { channel, values in
            stride(from: channel, to: picture.pixels.count, by: 3).map { values[Int(picture.pixels[$0])] }
        }
    }

    /// Reads the settings of a model.
    /// - Returns: nil if the model has none for pictures.
    /// - Throws: `FormatError` naming an unknown processor, or a field of another type or range.
    public init?(files: NamedFiles) throws {
        // Version 5 of transformers writes the settings of all parts of a processor to one file.
        let nested = try files.document("processor_config.json")["image_processor"]
        let alone = try files.document("preprocessor_config.json")
        let settings = alone.exists ? alone : nested
        guard settings.exists, let kind = try ImageProcessorKind(settings, files) else { return nil }
        for name in ["do_pad", "do_flip_channel_order", "use_square_size"] where settings[name].exists {
            guard try !settings[name].bool() else { throw settings[name].error("only false is supported") }
        }
        func flag(_ name: String, _ usual: Bool) throws -> Bool {
            try settings[name].exists ? settings[name].bool() : usual
        }
        size =
            try flag("do_resize", true)
            ? Size(settings["size"], isSquare: kind.isSquare) ?? kind.size : nil
        let number = settings["resample"]
        guard let filter = try ResizingFilter(rawValue: number.exists ? number.int() : kind.filter.rawValue) else {
            throw number.error("the filter is unknown; 0 to \(ResizingFilter.allCases.count - 1) are supported")
        }
        self.filter = filter
        if try flag("do_center_crop", kind.cropSize != nil) {
            let field = settings["crop_size"]
            let given = try Size(field, isSquare: true)
            guard case .exact(let height, let width)? = given ?? kind.cropSize else {
                throw field.error("expected a height and a width")
            }
            cropSize = (height, width)
        } else {
            cropSize = nil
        }
        values = try Self.values(
            settings, kind, rescales: flag("do_rescale", true), normalises: flag("do_normalize", true))
    }

    /// Rounds as numpy does: rescaling in double precision, the rest in single precision.
    private static func values(
        _ settings: JSONField, _ kind: ImageProcessorKind, rescales: Bool, normalises: Bool
    ) throws -> [[Float]] {
        let field = settings["rescale_factor"]
        let factor = try rescales ? field.exists ? field.double() : 1 / 255 : 1
        /// One number, or one for each channel.
        func numbers(_ name: String, _ usual: [Double]) throws -> [Double] {
            let field = settings[name]
            guard field.exists else { return usual }
            guard case .array? = field.value else { return [Double](repeating: try field.double(), count: 3) }
            let list = try field.array().map { try $0.double() }
            guard list.count == 3 else { throw field.error("expected 3 numbers, one a channel, found \(list.count)") }
            return list
        }
        let means = try normalises ? numbers("image_mean", kind.mean) : [0, 0, 0]
        let deviations = try normalises ? numbers("image_std", kind.deviation) : [1, 1, 1]
        return try zip(means, deviations).map { mean, deviation in
            let values = (0...255).map { (Float(Double($0) * factor) - Float(mean)) / Float(deviation) }
            guard values.allSatisfy(\.isFinite) else {
                throw settings.error("image_mean, image_std or rescale_factor make pixels that are not finite")
            }
            return values
        }
    }
}
