export {chis} from './chi.js'
export {fisherCosine} from './fisher.js'
export {philox4x32} from './philox.js'
export {normals, type RandomStream, randomStream, streamKey} from './stream.js'
