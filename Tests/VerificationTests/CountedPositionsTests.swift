import AccelPrograms
import AccelTensors
import Testing

@testable import AccelVerification

@Suite("Positions that count")
struct CountedPositionsTests {
    /// Two samples of three positions, of which the mask hides the last of the first one.
    private let mask = HostTensor([1, 1, 0, 1, 1, 1] as [Int64], [2, 3])
    private let wanted = HostTensor((0..<12).map(Float.init), [2, 3, 2])

    private func finding(_ changed: Int, _ mask: HostTensor?, shape: Shape? = nil) -> OutputFinding {
        var floats = wanted.floats
        floats[changed] += 1
        let shape = shape ?? wanted.shape
        return OutputFinding(
            .outputs, function: "model", name: "y", nil, against: .originalWeights, HostTensor(floats, shape),
            HostTensor(wanted.floats, shape), .rounding,
            at: CountedPositions(mask.map { ["attention_mask": $0] } ?? [:], of: nil))
    }

    @Test("What differs at a hidden position is in no figure, and what differs elsewhere is")
    func hidden() {
        for element in 0..<12 {
            let finding = finding(element, mask)
            #expect(finding.metrics.isExact == [4, 5].contains(element), "\(element)")
            #expect(finding.metrics.count == 10)
            #expect(finding.leavesPaddingOut)
            #expect((finding.failure == nil) == finding.metrics.isExact)
        }
    }

    @Test("All elements count without a mask, by one that shows all or nothing, and of outputs without positions")
    func whole() {
        let full = HostTensor([Int64](repeating: 1, count: 6), [2, 3])
        let none = HostTensor([Int64](repeating: 0, count: 6), [2, 3])
        let findings =
            [nil, full, none].map { finding(4, $0) }
            + [[12], [2, 6], [3, 2, 2], [6, 2]].map { finding(4, mask, shape: $0) }
        for finding in findings {
            #expect(finding.metrics.count == 12)
            #expect(!finding.metrics.isExact && !finding.leavesPaddingOut)
        }
    }

    @Test("The mask is the input of that role, whatever its name")
    func role() {
        var interface = Interface()
        interface.inputs["seen"] = .attentionMask(.onesCount)
        let positions = CountedPositions(["seen": mask, "attention_mask": wanted], of: interface)
        #expect(positions.elements(of: wanted) == [0, 1, 2, 3, 6, 7, 8, 9, 10, 11])
    }
}
