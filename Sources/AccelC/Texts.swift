// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Accel
import AccelByteIO
public import CAccel

@c @implementation public func accel_model_embed(
    _ model: OpaquePointer?, _ texts: UnsafePointer<UnsafePointer<CChar>?>?, _ count: Int, _ truncate: Int32,
    _ vectors: UnsafeMutablePointer<Float>?, _ capacity: Int, _ width: UnsafeMutablePointer<Int>?,
    _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    attempt(error) { () throws(AccelError) in
        let object = try HandleTable.all.object(model, as: ModelObject.self)
        let target = try required(width, "width")
        let given = try array(texts, count, "texts")
        var strings: [String] = []
        for text in given { strings.append(try string(text, "texts[\(strings.count)]")) }
        let opened = object.model
        guard vectors != nil || capacity != 0 else {
            target.pointee = try opened.embeddingWidth()
            return
        }
        let memory = try required(vectors, "vectors")
        let expected = try opened.embeddingWidth()
        let (numbers, overflow) = expected.multipliedReportingOverflow(by: strings.count)
        guard !overflow, capacity >= numbers else {
            throw AccelError(
                .invalid, expected: "memory for \(numbers) numbers", found: "\(UInt(bitPattern: capacity))",
                at: "argument vectors")
        }
        let made = try WaitingThread.wait { [strings] () async throws(AccelError) -> [[Float]] in
            try await opened.embed(strings, truncates: truncate != 0)
        }
        for (row, vector) in made.enumerated() {
            for (column, number) in vector.enumerated() { memory[row * expected + column] = number }
        }
        target.pointee = expected
    }
}
