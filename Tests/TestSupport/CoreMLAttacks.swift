import AccelByteIO

extension Attack {
    /// Files `Manifest.json` of a Core ML package whose folder `Data` holds `model.mlmodel`, a folder `folder`, and
    /// `link.mlmodel`, a symbolic link to the model. Errors about a file of `Data` name that file.
    public static let coreMLManifests: [Attack] = {
        func manifest(_ path: String, version: String = "\"1.0.0\"", root: String = "\"A\"") -> [UInt8] {
            Array(
                (#"{"fileFormatVersion":\#(version),"rootModelIdentifier":\#(root),"itemInfoEntries":{"A":{"author":"a","#
                    + #""description":"d","name":"n","path":\#(path)}}}"#).utf8)
        }
        func path(
            _ name: String, _ path: String, _ words: String,
            at place: FormatError.Location? = .field("itemInfoEntries.A.path")
        )
            -> Attack
        { Attack(name, manifest("\"\(path)\""), .rejected(place, words)) }
        let model = "\"model.mlmodel\""
        return [
            Attack("as it is", manifest(model), .accepted),
            path("a path that leaves the package", "../Manifest.json", "does not lie inside"),
            path("a path by way of another folder", "folder/../model.mlmodel", "does not lie inside"),
            path("an absolute path", "/etc/passwd", "does not lie inside"),
            path("a backslash", #"..\\Manifest.json"#, "does not lie inside"),
            path("a NUL", #"model.mlmodel\u0000"#, "does not lie inside"),
            path("an empty path", "", "does not lie inside"),
            path("what is missing", "missing.mlmodel", "there is no Data/missing.mlmodel"),
            path("a symbolic link", "link.mlmodel", "expected a regular file, found a symbolic link", at: nil),
            path("a folder as the model", "folder", "expected a regular file, found a folder", at: nil),
            Attack("a number as the path", manifest("1"), .rejected(.field("itemInfoEntries.A.path"), "a string")),
            Attack(
                "a later format", manifest(model, version: "\"2.0.0\""),
                .rejected(.field("fileFormatVersion"), "accelc reads version 1.0")),
            Attack(
                "a number as the format", manifest(model, version: "1"),
                .rejected(.field("fileFormatVersion"), "a string")),
            Attack(
                "a model that is not listed", manifest(model, root: "\"B\""),
                .rejected(.field("rootModelIdentifier"), "no item is called \"B\"")),
            Attack(
                "no items", Array(#"{"fileFormatVersion":"1.0.0","rootModelIdentifier":"A"}"#.utf8),
                .rejected(.field("itemInfoEntries"), "an object")),
            Attack("an array", Array("[]".utf8), .rejected(.field("fileFormatVersion"), "a string")),
            Attack("empty file", [], .rejected(.offset(0), "is empty")),
            Attack(
                "more than a MB", [UInt8](repeating: 0x20, count: 1 << 20 + 1),
                .rejected(.offset(0), "at most 1048576 are read")),
        ]
    }()

    /// Files `weight.bin` whose entry at byte 64 is read: that of the fixture `functions`, with some bytes changed.
    public static let coreMLBlobs: [Attack] = {
        let path = Fixtures.path("coreml/functions.mlpackage/Data/com.apple.CoreML/weights/weight.bin")
        guard let sound = try? MappedFile(path).bytes.withBytes({ Array($0) }) else { return [] }
        func changed(_ name: String, _ changes: [Int: UInt8], at place: UInt64, _ words: String) -> Attack {
            var bytes = sound
            for (offset, value) in changes { bytes[offset] = value }
            return Attack(name, bytes, .rejected(.offset(place), words))
        }
        return [
            Attack("as it is", sound, .accepted),
            Attack("empty file", [], .rejected(.offset(0), "4 bytes are expected")),
            Attack("a header alone", Array(sound[..<64]), .rejected(.offset(0), "entries do not fit")),
            changed("a version of 1", [4: 1], at: 4, "blob storage of version 1"),
            changed("2^31 entries", [3: 0x80], at: 0, "entries do not fit"),
            changed("another sentinel", [64: 0], at: 64, "expected the sentinel 0xDEADBEEF"),
            changed("an unknown element type", [68: 99], at: 68, "does not read the element type 99"),
            changed("a size of 2^63", [79: 0x80], at: 72, "size"),
            changed("a size larger than the file", [74: 1], at: 72, "size is 65856, expected 0...448"),
            changed("a size that reaches beyond the file", [72: 0xC0, 73: 1], at: 72, "reach beyond the file's 448"),
            changed("elements that begin beyond the file", [82: 255], at: 80, "offset of the elements"),
            changed("8 unused bits", [88: 8], at: 88, "unused bits"),
            changed("1 unused bit of 16-bit elements", [88: 1], at: 88, "no whole elements of 16 bits"),
        ]
    }()
}
