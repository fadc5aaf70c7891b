import {fileURLToPath} from 'node:url'
import {beforeAll, describe, expect, it} from 'vitest'
import {useBackend} from '../../src/backends/index.js'
import {sample} from '../helpers/effort.js'
import {CaseArrays, readManifest, requestOf} from './cases.js'
import {callOf, referenceError, twinInputs, twinOf} from './check.js'
import {checkCase} from './check-case.js'
import {isRead, requestOfNotes} from './notes/index.js'
import {guardOfNote} from './notes/read.js'
import {type AttentionRequest, goldenRequest} from './request.js'

const folder = fileURLToPath(new URL('../../fixtures/golden', import.meta.url))
const manifest = readManifest(folder)

beforeAll(() => useBackend('cpu'))

/** The first case of each method. */
const FIRST = new Map(
  manifest.toReversed().flatMap(golden => {
    const request = goldenRequest.parse(golden.request)
    return request.kind === 'attention' ? [[request.methods[0]!, {golden, request}] as const] : []
  }),
)

describe('golden harness', () => {
  it.each(sample([...FIRST], 4, 0))(
    'notices one changed output element of %s',
    async (method, found) => {
      const {golden, request}: {golden: (typeof manifest)[number]; request: AttentionRequest} =
        found
      const arrays = await CaseArrays.read(folder, golden)
      expect(() => checkCase(golden, arrays, request)).not.toThrow()
      const call = callOf(golden, arrays, request, method)
      const out = arrays.numbers('out')
      const {error} = twinOf(golden, twinInputs(golden, arrays, call), call).out
      const bound = error.map(rounding => rounding + referenceError(golden, out))
      const at = bound.indexOf(Math.min(...bound))
      out[at]! += 10 * bound[at]!
      expect(() => checkCase(golden, arrays.with('out', out), request)).toThrow(/observed maximum/)
    },
  )

  it('notices a stored result that nothing is compared with', async () => {
    const golden = manifest.find(({request}) => request?.kind === 'attention')!
    const arrays = await CaseArrays.read(folder, golden)
    const more = {...golden, outputs: ['numerator']}
    const request = requestOf(golden, arrays)
    expect(() => checkCase(more, arrays, request)).toThrow(/each stored result.*numerator/)
  })

  it('notices a changed direction of a projection', async () => {
    const golden = manifest.find(({request}) => request?.kind === 'projection')!
    const arrays = await CaseArrays.read(folder, golden)
    const out = arrays.numbers('out')
    out[0]! += 0.1 * Math.max(...out)
    const request = requestOf(golden, arrays)
    expect(() => checkCase(golden, arrays.with('out', out), request)).toThrow(/observed/)
  })

  it('refuses a request with a field that nothing reads', () => {
    const request = {kind: 'attention', methods: ['rfa'], stabiliser: 'max'}
    expect(() => goldenRequest.parse(request)).toThrow(/stabiliser/)
  })
})

/** Cases in peers' words. One of this project needs no reading: it has a request. */
const NOTED = manifest.filter(golden => !golden.not_a_peer || isRead(golden))

describe('a manifest without requests', () => {
  it.each(sample(NOTED, 4, 0))('$name asks by its notes for the same', async golden => {
    const arrays = await CaseArrays.read(folder, golden)
    const read = goldenRequest.parse(requestOfNotes(golden, arrays))
    expect(read).toEqual(goldenRequest.parse(golden.request))
  })

  it('is refused for a method that no reading knows', async () => {
    const arrays = await CaseArrays.read(folder, manifest[0]!)
    const unknown = {...manifest[0]!, method: 'no such method'}
    expect(() => requestOfNotes(unknown, arrays)).toThrow('no reading of method "no such method"')
  })

  it.each([
    ['no clamp, no eps', 'none'],
    ['denominator.clamp(min=1e-2)', 'clamp:0.01'],
    ['abs().clamp_min(EPS=1.0): with SCALE 0.1', 'abs-clamp:1'],
    ['sum.abs().clamp(1e-3): unlike the others', 'abs-clamp:0.001'],
    ['clamp_min(1.0), no abs', 'clamp:1'],
    ['1/(phi_q . sum phi_k + 1e-6)', 'add:0.000001'],
  ])('is read: the note "%s" as guard %s', (note, guard) => {
    expect(guardOfNote(note)).toBe(guard)
  })

  it('is refused for a note that nobody can read', () => {
    expect(() => guardOfNote('as usual')).toThrow(/no guard can be read/)
  })
})
