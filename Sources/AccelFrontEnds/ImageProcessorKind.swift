import AccelByteIO
import AccelImages

/// The defaults of an image processor's class in transformers.
struct ImageProcessorKind {
    let size, cropSize: ImageProcessor.Size?
    /// One number as size stands for both sides, not for the shorter one.
    let isSquare: Bool
    let filter: ResizingFilter
    let mean, deviation: [Double]

    private init(
        _ size: ImageProcessor.Size, crop: ImageProcessor.Size? = nil, isSquare: Bool = true,
        filter: ResizingFilter = .bicubic, isCLIP: Bool = false
    ) {
        (self.size, cropSize, self.isSquare, self.filter) = (size, crop, isSquare, filter)
        mean = isCLIP ? [0.48145466, 0.4578275, 0.40821073] : [0.5, 0.5, 0.5]
        deviation = isCLIP ? [0.26862954, 0.26130258, 0.27577711] : [0.5, 0.5, 0.5]
    }

    private static func square(_ side: Int) -> ImageProcessor.Size { .exact(height: side, width: side) }
    private static let clip = Self(.shortestEdge(224), crop: square(224), isSquare: false, isCLIP: true)
    private static let vit = Self(square(224), filter: .bilinear)
    private static let siglip = Self(square(224), isSquare: false)

    private static let all: [String: Self] = [
        "CLIPImageProcessor": clip, "ChineseCLIPImageProcessor": clip, "BitImageProcessor": clip,
        "ViTImageProcessor": vit, "SiglipImageProcessor": siglip,
        "DeiTImageProcessor": Self(square(256), crop: square(224)),
        "BlipImageProcessor": Self(square(384), isCLIP: true),
    ]
    /// The classes by the `model_type` of config.json, for settings without a name.
    private static let byModel: [String: Self] = [
        "clip": clip, "clip_vision_model": clip, "siglip": siglip, "siglip_vision_model": siglip, "vit": vit,
    ]

    /// Finds the class by its name in the settings, else by the model.
    /// - Returns: nil for settings without a name, of a model without images.
    /// - Throws: `FormatError` for a class that is not supported.
    init?(_ settings: JSONField, _ files: NamedFiles) throws {
        let (field, early) = (settings["image_processor_type"], settings["feature_extractor_type"])
        guard field.exists || early.exists else {
            let model = try files.document("config.json")["model_type"]
            guard model.exists, let kind = Self.byModel[try model.string()] else { return nil }
            self = kind
            return
        }
        let named = field.exists ? field : early
        let type = try named.string()
        // Names of earlier versions, and of the same class with another backend.
        var name = type
        if name.hasSuffix("FeatureExtractor") { name = "\(name.dropLast("FeatureExtractor".count))ImageProcessor" }
        for suffix in ["Fast", "Pil"] where name.hasSuffix("ImageProcessor\(suffix)") { name.removeLast(suffix.count) }
        guard let kind = Self.all[name] else {
            throw named.error(
                "the image processor \(type) is not supported; \(Self.all.keys.sorted().joined(separator: ", ")) are")
        }
        self = kind
    }
}
