// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Accel
import AccelByteIO
import AccelC
import AccelConversion
import AccelPrograms
import AccelTensors
import AccelWeightCompression
public import CAccel

/// A conversion that C asks for, as a JSON object.
struct ConversionRequest {
    private(set) var conversion: Conversion
    let destination: PackageDestination
    let cache: String?
    private static let fields = [
        "model", "output", "compress", "recipe", "shapes", "parts", "ignore_tensors", "config", "logits", "states",
        "cache", "zip", "strict",
    ]

    /// - Throws: `FormatError` with the field that is wrong.
    init(_ text: String) throws {
        let request = JSONField(try JSON.parse(ByteView(Array(text.utf8)), file: Self.file), file: Self.file)
        guard case .object(let members)? = request.value else { throw request.error("is no object") }
        for member in members where !Self.fields.contains(member.key) {
            let hint = AccelError.suggestion(for: member.key, among: Self.fields) ?? "there is: \(Self.fields)"
            throw request[member.key].error("is no field of a request; \(hint)")
        }
        func texts(_ name: String) throws -> [String] {
            request[name].exists ? try request[name].array().map { try $0.string() } : []
        }
        func string(of name: String) throws -> String? { request[name].exists ? try request[name].string() : nil }
        func flag(_ name: String) throws -> Bool { request[name].exists ? try request[name].bool() : false }
        func word<Word: RawRepresentable>(_ name: String, _ usual: Word) throws -> Word where Word.RawValue == String {
            guard let found = try string(of: name) else { return usual }
            guard let word = Word(rawValue: found) else { throw request[name].error("\"\(found)\" is no value of it") }
            return word
        }
        let (scheme, recipe) = (try string(of: "compress"), request["recipe"])
        guard scheme == nil || !recipe.exists else { throw recipe.error("a request has compress or recipe, not both") }
        conversion = Conversion(
            of: try request["model"].string(),
            recipe: recipe.exists ? try Recipe(recipe) : try Recipe(scheme: scheme ?? "float16"))
        conversion.keepsQuantized = scheme == nil && !recipe.exists
        conversion.shapes = try texts("shapes").map { try ShapeBindings(parsing: $0) }
        conversion.parts = try texts("parts")
        conversion.ignoredTensors = try texts("ignore_tensors")
        conversion.configuration = try string(of: "config")
        conversion.logits = try word("logits", .all)
        conversion.states = try word("states", .float32)
        conversion.isStrict = try flag("strict")
        let output = try request["output"].string()
        destination = try flag("zip") ? .archive(output) : .folder(output)
        cache = try string(of: "cache")
    }

    fileprivate static let file = "the request"
}

@c @implementation public func accel_convert(
    _ request: UnsafePointer<CChar>?, _ options: UnsafePointer<accel_conversion>?,
    _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    attempt(error) {
        let options = try optional(options, "accel_conversion")
        let asked: ConversionRequest
        do { asked = try ConversionRequest(try string(request, "request")) } catch let error as FormatError {
            // The request is the caller's, and no file.
            throw error.file == ConversionRequest.file ? AccelError(.invalid, error.description, at: "") : error
        }
        var settings = ConversionSettings(cache: asked.cache.map { Cache(root: $0) })
        if let options {
            settings.threads =
                try number(options.threads, atMost: 1024, "accel_conversion.threads").map { Int($0) }
                ?? settings.threads
            settings.cancellation = Cancellation(or: try cancelPoll(options.cancel))
        }
        let progress = options?.progress
        let context = options?.context
        _ = try asked.conversion.convert(to: asked.destination, settings) { event in
            guard let progress else { return }
            let fraction = event.total.map { Double(event.done) / Double(max($0, 1)) } ?? -1
            progress(context, event.kind.rawValue, fraction, event.text)
        }
    }
}
