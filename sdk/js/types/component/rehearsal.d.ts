/**
 * The engine compiles a function when it is called first, and each call of a driver starts from what the build has left. So
 * the large functions of the bindings are called once at the build. They get nothing, and fail before they reach for a host.
 */
export {};
