import {fileURLToPath} from 'node:url'
import {beforeAll, describe, it} from 'vitest'
import {type BackendName, useBackend} from '../../src/backends/index.js'
import {runnableBackends} from '../helpers/backends.js'
import {CaseArrays, readManifest} from './cases.js'
import {familyOf} from './families/index.js'

const folder =
  process.env.RFA_GOLDEN_DIR ?? fileURLToPath(new URL('../../fixtures/golden', import.meta.url))
const backends = (process.env.RFA_GOLDEN_BACKEND?.split(',') ??
  (await runnableBackends())) as BackendName[]
const manifest = readManifest(folder)

describe.each(backends)('golden cases on %s', backend => {
  beforeAll(() => useBackend(backend))

  for (const golden of manifest) {
    it(golden.name, async () => {
      const family = familyOf(golden)
      if (!family) throw new Error(`no family for method "${golden.method}"`)
      family.check(golden, await CaseArrays.read(folder, golden))
    })
  }
})
