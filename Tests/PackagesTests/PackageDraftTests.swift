import AccelByteIO
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelPackages

@Suite("packages that are written while their weights are made")
struct PackageDraftTests {
    @Test("weights in any order, all or some of them, give the bytes of a package that is written at once")
    func orders() throws {
        try withTemporaryFolder { folder in
            let contents = try TinyModel(width: 128, rows: 256).contents()
            try PackageWriter.write(contents, to: "\(folder)/whole")
            let expected = try files(in: "\(folder)/whole")
            let names = contents.coverage.map(\.tensor.name)
            #expect(names.count == 4)
            for (index, order) in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [0, 2], [1, 2, 3], []].enumerated() {
                var contents = contents
                let path = "\(folder)/\(index)"
                let draft = try PackageDraft(replacing: path, weights: names)
                for place in order {
                    var spilled = false
                    let tensor = contents.coverage[place].tensor
                    let kept = try draft.keep([tensor]) { tensor in
                        spilled = true
                        return tensor
                    }[0]
                    #expect(kept.sections == tensor.sections)
                    #expect(kept.name == tensor.name)
                    if order == [0, 1, 2, 3] { #expect(!spilled) }
                    contents.coverage[place].tensor = kept
                }
                #expect(Files.kind(of: path) == nil)
                _ = try draft.write(contents)
                try draft.commit()
                #expect(try files(in: path) == expected, "\(order)")
            }
        }
    }

    @Test(
        "weights that come together, in any order, give the same bytes",
        arguments: [[0, 1, 2, 3], [2, 0, 3, 1], [3, 0]])
    func together(order: [Int]) throws {
        try withTemporaryFolder { folder in
            var contents = try TinyModel(width: 128, rows: 256).contents()
            try PackageWriter.write(contents, to: "\(folder)/whole")
            let draft = try PackageDraft(replacing: "\(folder)/p", weights: contents.coverage.map(\.tensor.name))
            let kept = try draft.keep(order.map { contents.coverage[$0].tensor }) { $0 }
            for (place, tensor) in zip(order, kept) {
                #expect(tensor.sections == contents.coverage[place].tensor.sections)
                contents.coverage[place].tensor = tensor
            }
            _ = try draft.write(contents)
            try draft.commit()
            #expect(try files(in: "\(folder)/p") == files(in: "\(folder)/whole"))
        }
    }

    @Test("a draft that is let go leaves nothing")
    func dropped() throws {
        try withTemporaryFolder { folder in
            let contents = try TinyModel(width: 128, rows: 256).contents()
            do {
                let draft = try PackageDraft(replacing: "\(folder)/p", weights: contents.coverage.map(\.tensor.name))
                _ = try draft.keep([contents.coverage[0].tensor]) { $0 }
                #expect(try Files.list(folder).count == 1)
            }
            #expect(try Files.list(folder).isEmpty)
        }
    }

    @Test("without a draft, the first tensors stay in memory and further ones move to files, with the same bytes")
    func spill() throws {
        try withTemporaryFolder { folder in
            let contents = try TinyModel(width: 256, rows: 512).contents()
            let tensors = contents.coverage.map(\.tensor).filter { $0.byteCount >= 1 << 16 }
            #expect(tensors.count >= 2)
            let spill = TensorSpill(beside: "\(folder)/p", room: tensors[0].byteCount)
            let kept = try spill.keep(tensors)
            for (index, pair) in zip(tensors, kept).enumerated() {
                #expect(pair.0.sections == pair.1.sections)
                #expect((MemoryRange(pair.0.sections[0]) == MemoryRange(pair.1.sections[0])) == (index == 0))
            }
            #expect(try Files.list(folder).isEmpty)
        }
    }
}
