import AccelByteIO
import AccelFrontEnds
import AccelImages
import TestSupport
import Testing

@Suite("Image processors by preprocessor_config.json")
struct ImageProcessorTests {
    private func processor(_ files: [String: String]) throws -> ImageProcessor? {
        try ImageProcessor(
            files: NamedFiles(in: "model", names: files.keys.sorted()) { name in
                files[name].map { ByteView(Array($0.utf8)) }
            })
    }

    private func processor(_ settings: String) throws -> ImageProcessor? {
        try processor(["preprocessor_config.json": settings])
    }

    @Test("Bytes and values are those of transformers")
    func transformers() throws {
        let rows = try PictureGoldens.rows("processed")
        for row in rows {
            let settings = try #require(row["settings"].value).text()
            let name = "\(try row["case"].string()), \(try row["picture"].string())"
            let processor = try #require(try processor(settings), "\(name)")
            let fitted = try processor.fitted(try PictureGoldens.picture(row["picture"].string()))
            #expect(try fitted.equals(row), "\(name)")
            let values = ByteView(processor.values(of: fitted))
            #expect(try Int(Deflate.checksum(of: values)) == row["values"].int(), "\(name)")
        }
        #expect(rows.count == 87)
    }

    @Test("Settings in processor_config.json, by the type of the model, and of other models")
    func others() throws {
        let settings = #"{"image_processor_type": "ViTImageProcessor", "size": 30}"#
        let nested = try processor(["processor_config.json": #"{"image_processor": \#(settings)}"#])
        #expect(nested?.size == .exact(height: 30, width: 30) && nested?.filter == .bilinear)
        let unnamed = try processor([
            "preprocessor_config.json": #"{"size": 30}"#, "config.json": #"{"model_type": "clip_vision_model"}"#,
        ])
        #expect(unnamed?.size == .shortestEdge(30) && unnamed?.filter == .bicubic)
        #expect(try processor(#"{"size": 30}"#) == nil)
        #expect(try processor([:]) == nil)
    }

    @Test(
        "An unknown processor, and a field of another type or range, are named",
        arguments: [
            ("image_processor_type", "\"DetrImageProcessor\""), ("image_processor_type", "7"), ("size", "0"),
            ("size", "\"224\""), ("size", "[1, 2, 3]"), ("size", "100000"), ("size", #"{"longest_edge": 7}"#),
            ("size", #"{"shortest_edge": 7, "longest_edge": 0}"#), ("size", #"{"shortest_edge": 7, "width": 9}"#),
            ("size", #"{"max_height": 7}"#), ("size", #"{"max_height": 7, "max_width": 99999}"#),
            ("size", #"{"min_pixels": 7, "max_pixels": 9}"#), ("size", "{}"), ("resample", "6"), ("resample", "-1"),
            ("do_resize", "1"), ("do_center_crop", "true"), ("do_pad", "true"), ("image_mean", "[0.5, 0.5]"),
            ("image_std", "\"1\""), ("rescale_factor", "[]"),
        ])
    func wrong(_ name: String, _ value: String) throws {
        let type = name == "image_processor_type" ? "" : #""image_processor_type": "ViTImageProcessor", "#
        let text = "{\(type)\"\(name)\": \(value)}"
        let error = #expect(throws: FormatError.self) { _ = try processor(text) }
        // The field of a size, or a member of it.
        let members = ["", ".longest_edge", ".max_width"]
        #expect(members.contains { error?.location == .field(name == "do_center_crop" ? "crop_size" : name + $0) })
        #expect(value.contains("Detr") ? error?.reason.contains("DetrImageProcessor is not supported") == true : true)
    }

    @Test("A size of the picture's proportions varies, unless a part is cut out")
    func varying() throws {
        for (type, more, isVarying) in [
            ("ViT", #""size": 9"#, false),
            ("ViT", #""size": {"shortest_edge": 9, "longest_edge": 12}"#, true),
            ("ViT", #""size": {"max_height": 9, "max_width": 12}"#, true), ("ViT", #""do_resize": false"#, true),
            ("Siglip", #""size": 9"#, true), ("CLIP", #""size": 9"#, false),
            ("CLIP", #""do_center_crop": false"#, true),
        ] {
            let processor = try processor(#"{"image_processor_type": "\#(type)ImageProcessor", \#(more)}"#)
            #expect(processor?.hasVaryingSize == isVarying, "\(type), \(more)")
        }
    }

    @Test("A picture that is too long for its size is an error")
    func tooLong() throws {
        let line = try Picture(pixels: [UInt8](repeating: 0, count: 3000), width: 1000, height: 1)
        for size in [#"{"shortest_edge": 9, "longest_edge": 12}"#, #"{"max_height": 9, "max_width": 12}"#] {
            let processor = try #require(
                try processor(#"{"image_processor_type": "ViTImageProcessor", "size": \#(size)}"#))
            #expect(throws: RequestError.self) { try processor.fitted(line) }
        }
    }

    @Test("Pixels that are not finite, and a side that is too long, are errors")
    func limits() throws {
        let settings = #"{"image_processor_type": "ViTImageProcessor", "image_std": 0}"#
        #expect(throws: FormatError.self) { _ = try processor(settings) }
        let clip = try #require(try processor(#"{"image_processor_type": "CLIPImageProcessor"}"#))
        let line = try Picture(pixels: [UInt8](repeating: 0, count: 3000), width: 1000, height: 1)
        #expect(throws: RequestError.self) { try clip.fitted(line) }
    }
}
