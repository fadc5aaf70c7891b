import {fileURLToPath} from 'node:url'
import {beforeAll, describe, it} from 'vitest'
import {type BackendName, useBackend} from '../../src/backends/index.js'
import {casesOn, everyBackend} from '../helpers/backends.js'
import {CaseArrays, readManifest, requestOf} from './cases.js'
import {checkCase} from './check-case.js'

const folder =
  process.env.RFA_GOLDEN_DIR ?? fileURLToPath(new URL('../../fixtures/golden', import.meta.url))
const backends = (process.env.RFA_GOLDEN_BACKEND?.split(',') ??
  (await everyBackend())) as BackendName[]
const manifest = readManifest(folder)
/** Whoever names a folder or backends gets every case on each. */
const asked = process.env.RFA_GOLDEN_DIR ?? process.env.RFA_GOLDEN_BACKEND

describe.each(backends)('golden cases on %s', backend => {
  beforeAll(() => useBackend(backend))

  for (const golden of asked ? manifest : casesOn(backend, manifest)) {
    it(golden.name, async () => {
      const arrays = await CaseArrays.read(folder, golden)
      checkCase(golden, arrays, requestOf(golden, arrays))
    })
  }
})
