import AccelByteIO
import AccelTensors
import AccelWeightCompression

extension FuzzTarget {
    static let recipe = FuzzTarget(
        name: "recipe",
        seeds: [
            #"{"default": "palette:bits=4,group=16", "rules": [{"match": "*.bias", "compress": "float32"}]}"#,
            #"{"default": "float16", "rules": [{"operator": "linear", "atLeast": 9, "compress": "int4:block=32"}]}"#,
            #"{"default": "int8:axis=channel", "rules": [{"match": "[a-c]?*", "compress": "int8:symmetric=no"}]}"#,
        ].map { Array($0.utf8) }
    ) { bytes in
        let recipe = try Recipe(JSONField(JSON.parse(bytes, file: "fuzz"), file: "fuzz"))
        let tensor = StoredTensor(name: "encoder.layers.0.fc1.weight", floats: [1, 2, 3, 4], shape: [2, 2])
        _ = recipe.choice(for: tensor, readBy: ["linear"])
    }
}
