import {readFile} from 'node:fs/promises'
import {join} from 'node:path'
import {expect, it} from 'vitest'
import type {Addon} from '../../../../src/backends/native/addon.js'
import {loadAddon} from '../../../../src/backends/native/loader.js'
import {saveProfile, startProfile} from '../../../../src/runner/workers/profiler.js'
import {temporaryFolder} from '../../../helpers/folders.js'

const folder = temporaryFolder()

/** Keeps this thread busy for so long, in ms, by the clock and on a processor: a loaded machine gives it turns. */
function keepBusyForAProfile(time: number): void {
  const begin = process.cpuUsage()
  const end = performance.now() + time
  const computed = () => process.cpuUsage(begin).user / 1000
  while (performance.now() < end || computed() < time) Math.random()
}

it('names the functions in which time went, between start and end', async () => {
  await startProfile()
  keepBusyForAProfile(100)
  const path = join(folder, 'one.cpuprofile')
  await saveProfile(path)
  const {nodes, samples, startTime, endTime} = JSON.parse(await readFile(path, 'utf8'))
  expect(endTime - startTime).toBeGreaterThan(100e3) // microseconds
  const names = new Map(
    nodes.map(({id, callFrame}: {id: number; callFrame: {functionName: string}}) => [
      id,
      callFrame.functionName,
    ]),
  )
  const seen = samples.filter((id: number) => names.get(id) === keepBusyForAProfile.name)
  expect(seen.length).toBeGreaterThan(0)
})

it('can be taken again, but not saved without a start', async () => {
  await startProfile()
  await saveProfile(join(folder, 'two.cpuprofile'))
  await expect(saveProfile(join(folder, 'three.cpuprofile'))).rejects.toThrow('not begun')
})

it('reports where it cannot be written', async () => {
  await startProfile()
  await expect(saveProfile(join(folder, 'nowhere', 'a'))).rejects.toMatchObject({
    code: 'NOT_WRITABLE',
  })
})

const loaded = loadAddon()

it.skipIf(!('addon' in loaded))(
  'calls the addon by its name, not by one of its functions',
  async () => {
    const {addon} = loaded as {addon: Addon}
    await startProfile()
    addon.fmaPeak(0.1)
    const path = join(folder, 'addon.cpuprofile')
    await saveProfile(path)
    const {nodes} = JSON.parse(await readFile(path, 'utf8'))
    const names = nodes.map(
      ({callFrame}: {callFrame: {functionName: string}}) => callFrame.functionName,
    )
    const functions = new Set([...Object.keys(addon), 'step'])
    expect(names.filter((name: string) => functions.has(name))).toEqual([])
  },
)
