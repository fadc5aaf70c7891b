/** An engine is timed where it computes what was asked. */
import type {PeerCase} from './cases.js'
import type {JudgedRow} from './reference.js'

/** What is wrong with the output of an engine, `[H, L, D]`: no finite numbers anywhere, or other ones in the judged rows; `undefined`: nothing. */
export function faultOf(
  output: Float32Array,
  given: PeerCase,
  rows: readonly JudgedRow[],
): string | undefined {
  const {heads, headDim} = given
  const count = given.kind === 'decode' ? given.tokens : given.length
  const size = heads * count * headDim
  if (output.length !== size) return `expected an output of ${size} numbers, got ${output.length}`
  const odd = output.findIndex(entry => !Number.isFinite(entry))
  if (odd >= 0) return `expected finite outputs, got ${output[odd]} at ${odd}`
  for (const {head, row, out, bounds} of rows) {
    for (const [d, expected] of out.entries()) {
      const got = output[(head * count + row) * headDim + d]!
      // a bound that is no number holds for nothing
      if (Math.abs(got - expected) <= bounds[d]!) continue
      const place = `head ${head}, row ${row}, channel ${d}`
      return `expected ${expected.toPrecision(6)} within ${bounds[d]!.toExponential(1)} at ${place}, got ${got.toPrecision(6)}`
    }
  }
  return undefined
}
