import {createHash} from 'node:crypto'
import {mkdir, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {expect, it} from 'vitest'
import {loadFrom} from '../../../../src/backends/native/loader.js'
import {whyNotAsPacked} from '../../../../src/backends/native/prebuilt.js'
import {RfaError} from '../../../../src/errors.js'
import {newFolder} from '../../../helpers/folders.js'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** A package with prebuilt addons, of which one has another checksum and one has none. */
async function packageFolder() {
  const root = await newFolder()
  const place = join(root, 'prebuilds', 'linux-x64')
  await mkdir(place, {recursive: true})
  for (const name of ['whole', 'changed', 'new']) {
    await writeFile(join(place, `${name}.node`), name)
  }
  const lines = [
    `${sha256('whole')}  linux-x64/whole.node`,
    `${sha256('as packed')}  linux-x64/changed.node`,
  ]
  await writeFile(join(root, 'prebuilds', 'SHA256SUMS'), lines.map(line => `${line}\n`).join(''))
  return {root, place}
}

it('compares a prebuilt addon with the checksum that was packed', async () => {
  const {root, place} = await packageFolder()
  expect(whyNotAsPacked(root, join(place, 'whole.node'))).toBeUndefined()
  expect(whyNotAsPacked(root, join(place, 'changed.node'))).toBe(
    `prebuilds/linux-x64/changed.node: expected SHA-256 ${sha256('as packed')}, got ${sha256('changed')}`,
  )
  expect(whyNotAsPacked(root, join(place, 'new.node'))).toContain(
    'expected SHA-256 in SHA256SUMS, got',
  )
})

it('has nothing to say of one that was built here, nor in a checkout', async () => {
  const {root} = await packageFolder()
  expect(whyNotAsPacked(root, join(root, 'build', 'Release', 'rfa.node'))).toBeUndefined()
  expect(whyNotAsPacked(await newFolder(), '/elsewhere/rfa.node')).toBeUndefined()
})

it('keeps a changed addon from being loaded, and says what to do', () => {
  const load = () => {
    throw new RfaError('BAD_FILE', 'prebuilds/x.node: expected SHA-256 1, got 2')
  }
  expect(loadFrom({root: '/package', env: {}, load})).toEqual({
    reason:
      'the prebuilt addon was changed after it was packed: prebuilds/x.node: expected SHA-256 1, got 2',
    remedy: expect.stringMatching(/^install the package again; or npm rebuild rfa/),
  })
})
