import Accel
import AccelByteIO
import AccelImages

/// The options of a run on images.
enum ImageOptions {
    static let image = Option(
        "image", .input("FILE"), in: .input,
        "print the result of an encoder for a PNG or JPEG file. The result is a vector, or classes with scores; with --text it is how well "
            + "each text fits. Each further file has a result of its own",
        isCommon: true, isRepeatable: true, excludes: ["inputs", "prompt", "messages", "chat", "audio"])
}

/// A run of a model that takes whole images: a vector or classes of each.
struct ImageEncodings {
    private let paths: [String]

    /// Rejects files that are no images, before a model is converted.
    init(_ arguments: Arguments) throws {
        paths = arguments.all(ImageOptions.image)
        for path in paths { _ = try PictureFormat(ofFile: path) }
    }

    var isEmpty: Bool { paths.isEmpty }

    func run(_ model: AccelModel, _ arguments: Arguments, _ console: Console) throws {
        let isJSON = arguments.has(CommonOptions.json)
        let texts =
            arguments.has(TextOptions.text)
            ? try GivenTexts(arguments.required(TextOptions.text), "--text", by: model.text()) : nil
        // As many images are in memory as the model takes at a time.
        let rows = model.picturesAtOnce
        var documents: [JSON] = []
        for start in stride(from: 0, to: paths.count, by: rows) {
            let part = paths[start..<min(start + rows, paths.count)]
            let pictures = try part.map { try Picture(contentsOf: $0) }
            for (path, result) in zip(part, try results(of: pictures, with: texts, arguments, by: model)) {
                if isJSON {
                    documents.append(["image": .string(path), result.name: result.document])
                } else {
                    console.print(verbatim: result.line)
                }
            }
        }
        if isJSON { console.print(["images": .array(documents)]) }
    }

    private func results(
        of pictures: [Picture], with texts: GivenTexts?, _ arguments: Arguments, by model: AccelModel
    ) throws -> [EncoderResult] {
        if let texts {
            let truncates = arguments.has(TextOptions.truncate)
            return try texts.locating {
                try waiting { try await model.match(pictures, with: texts.texts, truncates: truncates) }
            }
            .map(EncoderResult.init)
        }
        if model.classifiesPictures {
            return try waiting { try await model.classify(pictures: pictures) }.map(EncoderResult.init)
        }
        return try waiting { try await model.embed(pictures: pictures) }.map(EncoderResult.init)
    }
}
