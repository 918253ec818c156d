import AccelByteIO

extension Attack {
    /// Files `model.safetensors.index.json` beside `1.safetensors`, which holds the tensors a and b of 8 bytes each, and
    /// `2.safetensors`, which holds b and c. Errors about a tensor name its shard.
    public static let shardIndexes: [Attack] = {
        func map(
            _ name: String, _ members: String, _ place: FormatError.Location?, _ words: String, total: String? = nil
        )
            -> Attack
        {
            let metadata = total.map { #""metadata": {"total_size": \#($0)}, "# } ?? ""
            return Attack(name, Array(#"{\#(metadata)"weight_map": {\#(members)}}"#.utf8), .rejected(place, words))
        }
        let (a, first) = (FormatError.Location.field("weight_map.a"), #""a": "1.safetensors", "b": "1.safetensors""#)
        return [
            map("a path that leaves the folder", #""a": "../1.safetensors""#, a, "plain name"),
            map("a path by way of another folder", #""a": "x/../1.safetensors""#, a, "plain name"),
            map("an absolute path", #""a": "/etc/1.safetensors""#, a, "plain name"),
            map("a backslash", #""a": "..\\1.safetensors""#, a, "plain name"),
            map("a NUL", #""a": "1.safetensors\u0000""#, a, "plain name"),
            map("an empty name", #""a": """#, a, "plain name"),
            map("a pickle", #""a": "1.bin""#, a, "Python pickle"),
            map("a missing shard", #""a": "3.safetensors""#, a, "missing"),
            map("a shard that is a folder", #""a": "folder.safetensors""#, nil, "a regular file, found a folder"),
            map(
                "shards whose names differ in case", #""a": "X.safetensors", "b": "x.safetensors""#,
                .field("weight_map.b"), "only in case"),
            map(
                "a tensor of a shard that is not listed", #""a": "1.safetensors""#, .tensor("b", index: nil),
                "does not list it"),
            map(
                "a tensor in two shards", first + #", "c": "2.safetensors""#, .tensor("b", index: nil),
                "says it is in 1.safetensors"),
            map("a tensor in no shard", first + #", "x": "1.safetensors""#, .field("weight_map.x"), "does not hold"),
            map("a total of one more", first, .field("metadata.total_size"), "expected 16", total: "17"),
            map(
                "a total of 2^70", first, .field("metadata.total_size"), "expected 16", total: "1180591620717411303424"),
            map("a total as a string", first, .field("metadata.total_size"), "expected 16", total: "\"16\""),
            Attack("no map", Array(#"{"metadata": {}}"#.utf8), .rejected(.field("weight_map"), "an object")),
            Attack(
                "an empty map", Array(#"{"weight_map": {}}"#.utf8), .rejected(.field("weight_map"), "names no tensor")),
            Attack(
                "an array as the map", Array(#"{"weight_map": []}"#.utf8), .rejected(.field("weight_map"), "an object")),
            map("a number for a shard", #""a": 1"#, a, "a string"),
            map("a name twice", #""a": "1.safetensors", "a": "2.safetensors""#, .offset(38), "twice"),
        ]
    }()
}
