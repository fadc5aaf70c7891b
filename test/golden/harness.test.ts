import {fileURLToPath} from 'node:url'
import {beforeAll, describe, expect, it} from 'vitest'
import {useBackend} from '../../src/backends/index.js'
import {CaseArrays, guardOfNote, readManifest} from './cases.js'
import {referenceError, twinInputs, twinOf} from './check.js'
import {FAMILIES, familyOf} from './families/index.js'

const folder = fileURLToPath(new URL('../../fixtures/golden', import.meta.url))
const manifest = readManifest(folder)

beforeAll(() => useBackend('cpu'))

describe('golden harness', () => {
  it.each(FAMILIES.filter(family => family.request).map(family => [family.name, family] as const))(
    'notices one changed output element of %s',
    async (_name, family) => {
      const golden = manifest.find(({method}) => family.methods.includes(method))!
      const arrays = await CaseArrays.read(folder, golden)
      const request = family.request!(golden, arrays)
      expect(() => family.check(golden, arrays)).not.toThrow()
      const out = arrays.numbers('out')
      const {error} = twinOf(golden, twinInputs(golden, arrays, request), request).out
      const bound = error.map(rounding => rounding + referenceError(golden, out))
      const at = bound.indexOf(Math.min(...bound))
      out[at]! += 10 * bound[at]!
      expect(() => family.check(golden, arrays.with('out', out))).toThrow(/observed maximum/)
    },
  )

  it('notices a changed direction of a projection', async () => {
    const golden = manifest.find(({method}) => method === 'orthogonal projection')!
    const arrays = await CaseArrays.read(folder, golden)
    const out = arrays.numbers('out')
    out[0]! += 0.1 * Math.max(...out)
    expect(() => familyOf(golden)!.check(golden, arrays.with('out', out))).toThrow(/observed/)
  })

  it('knows nothing of methods it was not told about', () => {
    expect(familyOf({method: 'no such method'})).toBeUndefined()
  })

  it.each([
    ['no clamp, no eps', 'none'],
    ['denominator.clamp(min=1e-2)', 'clamp:0.01'],
    ['abs().clamp_min(EPS=1.0): with SCALE 0.1', 'abs-clamp:1'],
    ['sum.abs().clamp(1e-3): unlike the others', 'abs-clamp:0.001'],
    ['clamp_min(1.0), no abs', 'clamp:1'],
    ['1/(phi_q . sum phi_k + 1e-6)', 'add:0.000001'],
  ])('reads the note "%s" as guard %s', (note, guard) => {
    expect(guardOfNote(note)).toBe(guard)
  })

  it('refuses a note it cannot read', () => {
    expect(() => guardOfNote('as usual')).toThrow(/no guard can be read/)
  })
})
