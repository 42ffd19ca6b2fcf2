"""What happens at a contact of two grains, as C++ text that `pairs` puts into the frame of a sweep.

Both sides of a contact do the same arithmetic with opposite signs, so that what one grain gains another loses to the
last bit.
"""

NONSMOOTH = """
        // Masses are split among the contacts of each side; the lighter side sets the softness.
        const F my_share = PRODUCT(MAX(own_contacts, 1.0f), mi), their_share = PRODUCT(MAX(nj, 1.0f), mj);
        const F together = @SHARED@, shared = together@LIGHTER@;
        const F light = @LIGHT@, soft = parameters.softness * light;
        F inverse_mass = shared + soft, pull = 0.0f;
        const F lx = KEPT(impulses, 0), ly = KEPT(impulses, 1), lz = KEPT(impulses, 2);
        const F before = lx * nx + ly * ny + lz * nz;
        F bias = (gap < 0.0f ? parameters.correction * gap : gap) * rate + soft * before;
        @DEEP@
        @COHESION@
        @BOUNCE@
        const F give = 1.0f / inverse_mass;
        // Impulses build up over steps like the force of a spring; letting go quickly, they do not throw grains back.
        const F parting = @PARTING@;
        F push = MAX(before - give * (normal + bias + parting), -pull);
        push = close ? push : zero;
        // A sphere turns as well as slides: tangentially it gives 7/2 as much.
        const F slide = give * (1.0f / 3.5f), rest = normal * slide - before;
        F fx = lx - ux * slide + rest * nx, fy = ly - uy * slide + rest * ny, fz = lz - uz * slide + rest * nz;
        const F limit = friction * (close ? push + pull : zero), force = fx * fx + fy * fy + fz * fz;
        // No branch: some contact of most groups slips, and to guess that wrong costs more than a root and a division.
        const F scale = force > limit * limit ? limit / SQRT(force + 1.0e-30f) : one;
        fx *= scale; fy *= scale; fz *= scale;
        F px = push * nx + fx, py = push * ny + fy, pz = push * nz + fz;
        @BLEND@
        @RESIDUAL@
        F twx = ai * (fy * nz - fz * ny), twy = ai * (fz * nx - fx * nz), twz = ai * (fx * ny - fy * nx);
        @COUPLE@
        sx += px; sy += py; sz += pz; tx += twx; ty += twy; tz += twz;
        // What grew slowly will come again; a blow will not, and expecting it would make grains bounce.
        const F calm = 2.0f * MAX(before, 0.0f) + parameters.calm_speed / light;
        if (@FINAL@ && ANY(push > calm)) {
            const F again = MIN(calm / MAX(push, 1.0e-30f), 1.0f), once = one - again;
            hx += once * px; hy += once * py; hz += once * pz; kx += once * twx; ky += once * twy; kz += once * twz;
            px *= again; py *= again; pz *= again;
            blows = true;
        }
        KEEP(impulses, 0, px) KEEP(impulses, 1, py) KEEP(impulses, 2, pz)
        // What pulls touches as well, or nobody would hand it on to the masses of a guest.
        touching += ((gap < parameters.near * MIN(ri, rj)) | (push != 0.0f) | (gap + @AHEAD@ * dt * normal < 0.0f))
            & close ? @WEIGHT@ : zero;
        @FORESEEN@
        @ROLLING@
#if defined(__CUDA_ARCH__)
        }
        @GIVEN@
#endif
    }
"""

SAME_SIZE = {
    "SIZES": "const F ri = parameters.radius, mi = parameters.inverse_mass; rj = ri; mj = mi;",
    "ARMS": "const F ox = ai * (my_turning[0] + wx), oy = ai * (my_turning[1] + wy), oz = ai * (my_turning[2] + wz);",
    "SHARED": "mi * (MAX(own_contacts, 1.0f) + MAX(nj, 1.0f))",
}
OWN_SIZE = {
    "SIZES": "const F ri = my_motion[3], mi = my_turning[3];",
    "ARMS": """
        const F mx = PRODUCT(ai, my_turning[0]), my = PRODUCT(ai, my_turning[1]), mz = PRODUCT(ai, my_turning[2]);
        const F yx = PRODUCT(aj, wx), yy = PRODUCT(aj, wy), yz = PRODUCT(aj, wz);
        const F ox = mx + yx, oy = my + yy, oz = mz + yz;""",
    "SHARED": "my_share + their_share",
}

SAME_SURFACE = """
        const F friction = parameters.friction, restitution = parameters.restitution, rolling = parameters.rolling,
                cohesion = parameters.cohesion;
"""
OWN_SURFACE = """
        F friction, restitution, rolling, cohesion;
        LOAD(grains.surfaces, friction, restitution, rolling, cohesion)
        const Number* my_surface = (const Number*)&grains.surfaces.data[i];
        const F rubbing = friction * my_surface[0];  // as in shapes.kernels.surfaces.mixed
        friction = rubbing >= 0.0f ? SQRT(rubbing) : MAX(friction, my_surface[0]);
        restitution = SQRT(restitution * my_surface[1]);
        rolling = SQRT(rolling * my_surface[2]); cohesion = SQRT(cohesion * my_surface[3]);
"""

# Where all grains are alike, and all guests: which pair it is says what to take.
TWO_SURFACES = """
        const F friction = guest ? zero + parameters.beside_guests[0] : zero + parameters.friction,
                restitution = guest ? zero + parameters.beside_guests[1] : zero + parameters.restitution,
                rolling = guest ? zero + parameters.beside_guests[2] : zero + parameters.rolling,
                cohesion = guest ? zero + parameters.beside_guests[3] : zero + parameters.cohesion;
"""

# Worlds that differ in parameters: both sides of a contact are in the same, and a guest's is not that of a grain.
VARIED_SIZES = "const F ri = parameters.radius, mi = my_turning[3]; rj = ri; mj = mi;"
SCALED = "friction *= varied.friction; restitution *= varied.restitution; cohesion *= varied.cohesion;"
VARIED_GUESTS = """
    const Number guest_friction = wp::sqrt(varied.friction * varied.skin_friction);
    const Number guest_restitution = wp::sqrt(varied.restitution), guest_cohesion = wp::sqrt(varied.cohesion);
"""
SCALED_GUESTS = """
        friction *= guest ? zero + guest_friction : zero + varied.friction;
        restitution *= guest ? zero + guest_restitution : zero + varied.restitution;
        cohesion *= guest ? zero + guest_cohesion : zero + varied.cohesion;
"""

BOUNCE = """
        // An impact reflects its speed at once, with nothing soft about it, and shares the mass of a grain with impacts
        // and with contacts that bear a load, not with those that are merely close. It is told by the velocities at the
        // start of the step, which sweeps do not change.
        F vx, vy, vz, vr;
        LOAD(grains.starts, vx, vy, vz, vr)
        const F coming = (my_velocity[0] - vx) * nx + (my_velocity[1] - vy) * ny + (my_velocity[2] - vz) * nz;
        const I fast = close & (coming < -parameters.bounce_speed), impact = fast & (gap + dt * coming < 0.0f);
        const F my_crowd = PRODUCT(MAX(own_impacts, 1.0f), mi), their_crowd = PRODUCT(MAX(their_impacts, 1.0f), mj);
        const F crowd = (my_crowd + their_crowd)@LIGHTER@;
        bias = impact ? restitution * coming : bias; inverse_mass = impact ? crowd : inverse_mass;
"""

COUNTS = """
        F their_impacts = FLOOR(nj * @SHARE@);
        nj -= @IMPACT@ * their_impacts; their_impacts *= @FINEST@;
"""

FORESEEN = """
        const I again = impact & (crowd > 1.01f * (mi + mj)@LIGHTER@);
        const I soon = fast & (gap + @AHEAD@ * dt * coming < 0.0f);
        const F more = @IMPACT@ * FLOOR(@WEIGHT@ / @FINEST@ + 0.5f);
        touching += again | ((soon | (close & (push > 0.0f))) & ~impact) ? more : zero;
"""

BLEND = """
        // The sweep before this one says where impulses were going; see `kernels.converge`.
        {
            F rx = lx, ry = ly, rz = lz;  // the first has no earlier one
            if (!fresh) {
                rx = KEPT(earlier, 0); ry = KEPT(earlier, 1); rz = KEPT(earlier, 2);
            }
            KEEP(earlier, 0, lx) KEEP(earlier, 1, ly) KEEP(earlier, 2, lz)
            px = rx + blend * (lx + parameters.over * (px - lx) - rx);
            py = ry + blend * (ly + parameters.over * (py - ly) - ry);
            pz = rz + blend * (lz + parameters.over * (pz - lz) - rz);
            const F along = px * nx + py * ny + pz * nz;
            push = close ? MAX(along, -pull) : zero;
            fx = px - along * nx; fy = py - along * ny; fz = pz - along * nz;
            const F most = friction * (close ? push + pull : zero), rubs = fx * fx + fy * fy + fz * fz;
            const F cut = rubs > most * most ? most / SQRT(rubs + 1.0e-30f) : one;
            fx *= cut; fy *= cut; fz *= cut;
            px = push * nx + fx; py = push * ny + fy; pz = push * nz + fz;
        }
"""

FACET = """
    const int am_guest = my_motion[3] < parameters.smallest ? -1 : 0;
    const Number* my_facet = (const Number*)&grains.facets.data[i];
"""

FACETS = """
        // A guest is a disc or a rod about its centre: what is nearest to a grain there is its centre moved by `e`.
        // Those of neighbours overlap; the further that is from the centre, the less a contact weighs. With extents of
        // 0.8 of the way to the neighbours, weights that fall from 1 like this add up to 1 in the mean.
        F ex = zero, ey = zero, ez = zero, weight = one, lighter = one;
        const I guest = (rj < parameters.smallest) | am_guest;
        if (ANY(guest)) {
            F gx, gy, gz, extent;
            LOAD(grains.facets, gx, gy, gz, extent)
            // Of the two sides one is a grain, whose facet is 0.
            gx += my_facet[0]; gy += my_facet[1]; gz += my_facet[2]; extent += my_facet[3];
            const F along = nx * gx + ny * gy + nz * gz;
            const F bx = nx - along * gx, by = ny - along * gy, bz = nz - along * gz;
            const F aside = SQRT(bx * bx + by * by + bz * bz);
            const F part = MIN(MAX(extent, zero) / MAX(aside, 1.0e-20f), one);
            const F shift = MIN(MAX(along, MIN(extent, zero)), MAX(-extent, zero));
            ex = part * bx + shift * gx; ey = part * by + shift * gy; ez = part * bz + shift * gz;
            nx -= ex; ny -= ey; nz -= ez;
            const F outwards = (part * aside + MAX(shift, -shift)) / MAX(MAX(extent, -extent), 1.0e-20f);
            weight = MIN(MAX(1.6f * (one - outwards), 1.0e-3f), one); lighter = one / weight;
        }
"""

ASIDE = """
        if (ANY(guest)) {
            const F gx = am_guest ? zero + my_turning[0] : wx, gy = am_guest ? zero + my_turning[1] : wy,
                    gz = am_guest ? zero + my_turning[2] : wz;
            ux -= gy * ez - gz * ey; uy -= gz * ex - gx * ez; uz -= gx * ey - gy * ex;
        }
"""

COUPLE = """
        if (am_guest) {
            twx -= ey * pz - ez * py; twy -= ez * px - ex * pz; twz -= ex * py - ey * px;
        }
"""

DEEP = """
        // Light guests are pressed by the whole of their body: what is deep in them is pushed out harder.
        bias += guest ? @DEPTH@ : zero;
"""

COHESION = """
        const I held = gap < 0.02f * @ROUND@;
        pull = held ? @WEIGHT@ * cohesion * dt : zero;
        bias = held ? parameters.correction * gap * rate + soft * before : bias;
"""

ROLLING = """
        // Torque against relative turning, at most the coefficient times the reduced radius times the normal force.
        const F spin = @ROLLING_SHARE@ / (2.5f * (@TURNED@)@LIGHTER@);
        F ax = KEPT(rollings, 0) - spin * (my_turning[0] - wx);
        F ay = KEPT(rollings, 1) - spin * (my_turning[1] - wy);
        F az = KEPT(rollings, 2) - spin * (my_turning[2] - wz);
        const F most = rolling * (@REDUCED@) * MAX(push, 0.0f), turn = ax * ax + ay * ay + az * az;
        const F share = turn > most * most ? most / SQRT(turn + 1.0e-36f) : one;
        ax *= share; ay *= share; az *= share;
        KEEP(rollings, 0, ax) KEEP(rollings, 1, ay) KEEP(rollings, 2, az)
        tx += ax; ty += ay; tz += az;
"""

TURNED = "MAX(own_contacts, 1.0f) * mi / (ri * ri) + MAX(nj, 1.0f) * mj / (rj * rj)"
AMONG_GRAINS = {
    "WEIGHT": "one", "LIGHTER": "", "LIGHT": "MAX(mi, mj)", "ROUND": "MIN(ri, rj)",
    "REDUCED": "ri * rj / (ri + rj)", "TURNED": TURNED,
}  # fmt: skip
# What is flat has no radius, and a guest turns with the body: the other side is a grain on a plate.
BESIDE_GUESTS = {
    "WEIGHT": "weight", "LIGHTER": " * lighter", "LIGHT": "MIN(MAX(mi, mj), @LIGHTEST@) * lighter",
    "ROUND": "(guest ? MAX(ri, rj) : MIN(ri, rj))",
    "REDUCED": "guest ? MAX(ri, rj) : ri * rj / (ri + rj)",
    "TURNED": f"""guest ? (am_guest ? MAX(nj, 1.0f) * mj / (rj * rj) : MAX(own_contacts, 1.0f) * mi / (ri * ri))
                : {TURNED}""",
}  # fmt: skip

RESIDUAL = """
        const F cx = px - lx, cy = py - ly, cz = pz - lz;
        const F moves = @MOVED@;
        worst = MAX(worst, SQRT(cx * cx + cy * cy + cz * cz) * moves);
"""
# A guest is shown lighter than its body is: what a sweep changes is judged by the grain.
MOVED_BY_GUESTS = "guest ? 2.0f * (am_guest ? MAX(nj, 1.0f) * mj : MAX(own_contacts, 1.0f) * mi) : together"

RELEASE = "parameters.release * MAX(normal - parameters.calm_speed, 0.0f)"
BOUNCING = {
    "OWN": """const Number own_parts = (Number)(int)(mine[3] * @SHARE@), own_impacts = @FINEST@ * own_parts;
    const Number own_contacts = mine[3] - @IMPACT@ * own_parts;
    const Number* my_velocity = (const Number*)&grains.starts.data[i];""",
    "COUNTS": COUNTS, "BOUNCE": BOUNCE, "PARTING": f"impact ? zero : {RELEASE}", "FORESEEN": FORESEEN,
}  # fmt: skip
NOT_BOUNCING = {
    "OWN": "const Number own_contacts = mine[3];",
    "COUNTS": "", "BOUNCE": "", "PARTING": RELEASE, "FORESEEN": "",
}  # fmt: skip

BODIES_RESIDUAL = "if (ANY(guest)) {" + RESIDUAL.replace("* moves)", "* (guest ? moves : zero))") + "}"
