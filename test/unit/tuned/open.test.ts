import {join} from 'node:path'
import {expect, it} from 'vitest'
import {openTuned, readTuned, tunedSpec, tunedSpecOf, writeTuned} from '../../../src/tuned/index.js'
import {newFolder} from '../../helpers/folders.js'
import {exampleTuned} from '../../helpers/tuned.js'

const USE = {method: 'favor-pos', numFeatures: 8}

it('a plan says of a file what its cells follow from', async () => {
  const path = join(await newFolder(), 'tuned.safetensors')
  await writeTuned(path, exampleTuned())
  const spec = tunedSpecOf(await readTuned(path))
  expect(tunedSpec.parse(spec)).toEqual(spec)
  expect(spec).toMatchObject({path, projection: 'orth', num_features: 8, draws: null})
  await writeTuned(path, exampleTuned({learned: 'rows'}, {layers: [0, 1], draws: 3}))
  expect(tunedSpecOf(await readTuned(path))).toMatchObject({draws: 3})
})

it('a file that was changed since, or is of another method or M, is refused', async () => {
  const path = join(await newFolder(), 'tuned.safetensors')
  await writeTuned(path, exampleTuned())
  const spec = tunedSpecOf(await readTuned(path))
  await expect(openTuned(spec, USE)).resolves.toMatchObject({method: 'favor-pos'})
  await expect(openTuned(spec, {...USE, method: 'rfa'})).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: `${path}: expected parameters of rfa, got those of favor-pos`,
  })
  await expect(openTuned(spec, {...USE, numFeatures: 16})).rejects.toMatchObject({
    message: `${path}: expected parameters for M=16, got those for M=8`,
    suggestions: ['ask for M=8, or tune with M=16'],
  })
  await writeTuned(path, exampleTuned({seed: 1}))
  const other = {...spec, digest: '0'.repeat(64)}
  await expect(openTuned(other, USE)).rejects.toMatchObject({code: 'FILE_CHANGED'})
})
